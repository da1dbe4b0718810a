/**
 * The files of `--out`. Their names are checked before anything runs, so that a misspelled folder is not reported after a
 * minute of work.
 */
import { extname } from 'node:path'
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { checkOutFile, writeWholeFile } from '../user-files.ts'

/** The content of a file by its extension, rendered on demand. */
export type FileContents = Readonly<Record<'.svg' | '.html' | '.json', () => string>>

type Extension = keyof FileContents
const EXTENSIONS: readonly Extension[] = ['.svg', '.html', '.json']

/** Throws for files that cannot be written. */
export async function checkOutFiles(files: readonly string[]): Promise<void> {
	for (const file of files) {
		if (extensionOf(file) === undefined)
			throw new InvalidOptionError('--out', file, `a file with extension ${EXTENSIONS.join(', ')}`)
		await checkOutFile(file)
	}
}

/** A list of numbers with a line each. A JSON text has line ends only between its parts, never in a string. */
const NUMBER_LIST = /\[\n\t+[-+.\de]+(?:,\n\t+[-+.\de]+)*\n\t+\]/g

/** Formats data for people, with each list of numbers in one line: a timeline has thousands of them. */
export const formatJson = (data: object): string =>
	`${JSON.stringify(data, undefined, '\t').replace(NUMBER_LIST, (list) => list.replace(/\n\t+/g, ''))}\n`

export const writeOutFile = (file: string, contents: FileContents): Promise<void> =>
	writeWholeFile(file, contents[extensionOf(file) ?? '.json'])

const extensionOf = (file: string): Extension | undefined =>
	EXTENSIONS.find((extension) => extension === extname(file).toLowerCase())
