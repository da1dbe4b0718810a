/**
 * Writes files that the user named with `--out`. A file is written under a temporary name and then renamed, so readers see the old or the new
 * file, never a part.
 */
import { randomUUID } from 'node:crypto'
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { CliError, errorMessage } from '../errors.ts'

/** Throws if the file cannot be written because of its name. */
export async function checkOutFile(file: string): Promise<void> {
	if (await isFolder(resolve(file))) throw new InvalidOptionError('--out', file, 'a file, not a folder')
	if (!(await isFolder(dirname(resolve(file)))))
		throw new CliError('notFound', `Cannot write ${file}: folder "${dirname(file)}" does not exist.`)
}

const isFolder = (path: string): Promise<boolean> =>
	stat(path).then(
		(stats) => stats.isDirectory(),
		() => false,
	)

export async function writeWholeFile(file: string, render: () => string): Promise<void> {
	const path = resolve(file)
	// A symbolic link stays a link.
	const target = await realpath(path).catch(() => path)
	const temporary = `${target}.${randomUUID()}`
	try {
		await writeFile(temporary, render())
		await rename(temporary, target)
	} catch (cause) {
		await rm(temporary, { force: true })
		throw new CliError('failure', `Cannot write ${file}: ${errorMessage(cause)}`, { cause })
	}
}
