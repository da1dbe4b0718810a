/** Splits CSV text into cells, with quoted cells as in RFC 4180. A library would be a dependency for forty lines. */
import { invalidArgument } from '../../core/options/schema.ts'

/** The cells of a line, and its number in the text. */
export interface CsvRow {
	readonly line: number
	readonly cells: readonly string[]
}

const DELIMITERS = [',', ';', '\t'] as const

/** Returns the rows that are not empty. The delimiter is a comma, a semicolon or a tab, whichever is most frequent in the first line. */
export function readRows(text: string): readonly CsvRow[] {
	const content = text.replace(/^\uFEFF/, '')
	const delimiter = findDelimiter(content)
	const rows: CsvRow[] = []
	let cells: string[] = []
	let [line, firstLine, at] = [1, 1, 0]
	const endRow = () => {
		if (cells.some((cell) => cell !== '')) rows.push({ line: firstLine, cells })
		cells = []
		firstLine = line
	}
	while (at < content.length) {
		const isQuoted = content[at] === '"'
		const end = isQuoted ? endOfQuoted(content, at, line) : endOfPlain(content, at, delimiter)
		const raw = content.slice(at, end)
		cells.push(isQuoted ? raw.slice(1, -1).replaceAll('""', '"') : raw.trim())
		line += raw.split('\n').length - 1
		at = end
		if (content[at] === delimiter) {
			at++
			// A delimiter at the end of a row is followed by an empty cell.
			if (at === content.length || content[at] === '\n' || content[at] === '\r') cells.push('')
		}
		if (content[at] === '\r') at++
		if (content[at] === '\n' || at >= content.length) {
			at++
			line++
			endRow()
		}
	}
	return rows
}

function findDelimiter(text: string): string {
	const [first = ''] = text.split('\n', 1)
	const count = (delimiter: string) => first.split(delimiter).length
	return DELIMITERS.reduce<string>((best, one) => (count(one) > count(best) ? one : best), ',')
}

function endOfPlain(text: string, from: number, delimiter: string): number {
	let end = from
	while (end < text.length && text[end] !== delimiter && text[end] !== '\n' && text[end] !== '\r') end++
	return end
}

/** Returns the position after the closing quote. */
function endOfQuoted(text: string, from: number, line: number): number {
	let quote = text.indexOf('"', from + 1)
	while (quote !== -1 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2)
	if (quote === -1) invalidArgument(`csv, line ${line}`, text.slice(from, from + 20), 'a closing quote')
	return quote + 1
}
