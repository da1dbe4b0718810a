/**
 * The files of `--out`. Their names are checked before anything runs, so that a misspelled folder is not reported after a
 * minute of work. A file is written under a temporary name and then renamed, so readers see the old or the new file, never a part.
 */
import { randomUUID } from 'node:crypto'
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { CliError, errorMessage } from '../errors.ts'

/** The content of a file by its extension, rendered on demand. */
export type FileContents = Readonly<Record<'.svg' | '.html' | '.json', () => string>>

type Extension = keyof FileContents
const EXTENSIONS: readonly Extension[] = ['.svg', '.html', '.json']

/** Throws for files that cannot be written. */
export async function checkOutFiles(files: readonly string[]): Promise<void> {
	for (const file of files) {
		if (extensionOf(file) === undefined)
			throw new InvalidOptionError('--out', file, `a file with extension ${EXTENSIONS.join(', ')}`)
		if (await isFolder(resolve(file))) throw new InvalidOptionError('--out', file, 'a file, not a folder')
		if (!(await isFolder(dirname(resolve(file)))))
			throw new CliError('notFound', `Cannot write ${file}: folder "${dirname(file)}" does not exist.`)
	}
}

const isFolder = (path: string): Promise<boolean> =>
	stat(path).then(
		(stats) => stats.isDirectory(),
		() => false,
	)

export async function writeOutFile(file: string, contents: FileContents): Promise<void> {
	const extension = extensionOf(file) ?? '.json'
	const path = resolve(file)
	// A symbolic link stays a link.
	const target = await realpath(path).catch(() => path)
	const temporary = `${target}.${randomUUID()}`
	try {
		await writeFile(temporary, contents[extension]())
		await rename(temporary, target)
	} catch (cause) {
		await rm(temporary, { force: true })
		throw new CliError('failure', `Cannot write ${file}: ${errorMessage(cause)}`, { cause })
	}
}

const extensionOf = (file: string): Extension | undefined =>
	EXTENSIONS.find((extension) => extension === extname(file).toLowerCase())
