/**
 * Files that the user names: read as text or JSON, and written for `--out`. Errors name the file. A file is
 * written under a temporary name and then renamed, so readers see the old or the new file, never a part.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { InvalidOptionError } from '../core/errors/errors.ts'
import { CliError, errorCode, errorMessage, usageError } from './errors.ts'

export function fileError(file: string, cause: unknown): CliError {
	const code = errorCode(cause)
	if (code === 'ENOENT' || code === 'ENOTDIR')
		return new CliError('notFound', `File "${file}" does not exist.`, { cause })
	return new CliError('failure', `Cannot read ${file}: ${errorMessage(cause)}`, { cause })
}

/** Parses JSON. Some editors write a byte order mark, which is not valid JSON. */
export function parseJson(name: string, text: string): unknown {
	try {
		return JSON.parse(text.replace(/^\uFEFF/, ''))
	} catch (cause) {
		throw usageError(`${name} is not valid JSON: ${errorMessage(cause)}`, { cause })
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

const OTHERS = 0o077

/**
 * Reads a secret from a file, so that it is not an argument: arguments are visible to every user of the
 * machine. A file that others can read gets a warning only, because mounted secrets often have such modes.
 */
export function readSecretFile(file: string, warn: (text: string) => void): string {
	try {
		const stats = statSync(file)
		// A pipe has no useful mode, and Windows has no modes.
		const isOpenToOthers = stats.isFile() && process.platform !== 'win32' && (stats.mode & OTHERS) !== 0
		if (isOpenToOthers) {
			const mode = (stats.mode & 0o777).toString(8)
			warn(`Other users can read ${file} (mode ${mode}). Change it with chmod 600.`)
		}
		return readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
	} catch (error) {
		throw fileError(file, error)
	}
}

/** Returns lines with content. A line that starts with # is a comment. */
export const contentLines = (text: string): readonly string[] =>
	text
		.split('\n')
		.map((line) => line.trim())
		.filter((line) => line !== '' && !line.startsWith('#'))
