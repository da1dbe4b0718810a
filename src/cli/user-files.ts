/**
 * Files that the user names: read as text or JSON, and written for `--out`. Errors name the file. A file is written under a temporary name and
 * then renamed, so readers see the old or the new file, never a part.
 */
import { randomUUID } from 'node:crypto'
import { readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { InvalidOptionError } from '../core/errors/errors.ts'
import { CliError, errorCode, errorMessage } from './errors.ts'

export function fileError(file: string, cause: unknown): CliError {
	const code = errorCode(cause)
	if (code === 'ENOENT' || code === 'ENOTDIR')
		return new CliError('notFound', `File "${file}" does not exist.`, { cause })
	return new CliError('failure', `Cannot read ${file}: ${errorMessage(cause)}`, { cause })
}

/** Parses JSON. `name` is the file name for messages. Some editors write a byte order mark, which is not valid JSON. */
export function parseJson(name: string, text: string): unknown {
	try {
		return JSON.parse(text.replace(/^\uFEFF/, ''))
	} catch (cause) {
		throw new CliError('usage', `${name} is not valid JSON: ${errorMessage(cause)}`, { cause })
	}
}

export async function readJson(file: string): Promise<unknown> {
	const text = await readFile(file, 'utf8').catch((error: unknown) => {
		throw fileError(file, error)
	})
	return parseJson(file, text)
}

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
