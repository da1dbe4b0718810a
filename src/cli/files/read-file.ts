/** Reads text and JSON files of the user, with errors that name the file. */
import { readFile } from 'node:fs/promises'
import { CliError, errorCode, errorMessage } from '../errors.ts'

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
