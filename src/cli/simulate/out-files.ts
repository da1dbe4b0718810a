/**
 * Files that `--out` asks for. What is wrong with their names is told before anything runs, since nobody wants to hear of a
 * misspelt folder after a minute's work. A file is written beside its place and then put there in one step: whoever looks
 * sees the old one or the new one, never half of one.
 */
import { randomUUID } from 'node:crypto'
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { CliError, toFailure } from '../errors.ts'

/** What a file holds, by its ending; each is made when it is asked for. */
export type Forms = Readonly<Record<'.svg' | '.html' | '.json', () => string>>

type Ending = keyof Forms
const ENDINGS: readonly Ending[] = ['.svg', '.html', '.json']

/** Refuses names that can not be written to. */
export async function checkOutFiles(files: readonly string[]): Promise<void> {
	for (const file of files) {
		if (endingOf(file) === undefined)
			throw new CliError('usage', `--out: got '${file}'; takes a file that ends in ${ENDINGS.join(', ')}`)
		if (await isFolder(resolve(file)))
			throw new CliError('usage', `--out: '${file}' is a folder; takes a file`)
		if (!(await isFolder(dirname(resolve(file)))))
			throw new CliError('notFound', `--out: there is no folder '${dirname(file)}' for '${file}'`)
	}
}

const isFolder = (path: string): Promise<boolean> =>
	stat(path).then(
		(stats) => stats.isDirectory(),
		() => false,
	)

/** Writes a file in the form that its ending says. */
export async function writeOut(file: string, forms: Forms): Promise<void> {
	const ending = endingOf(file) ?? '.json'
	const path = resolve(file)
	// A link stays a link.
	const target = await realpath(path).catch(() => path)
	const beside = `${target}.${randomUUID()}`
	try {
		await writeFile(beside, forms[ending]())
		await rename(beside, target)
	} catch (cause) {
		await rm(beside, { force: true })
		throw new CliError('failure', `--out: '${file}' could not be written: ${toFailure(cause).message}`, {
			cause,
		})
	}
}

const endingOf = (file: string): Ending | undefined =>
	ENDINGS.find((ending) => ending === extname(file).toLowerCase())
