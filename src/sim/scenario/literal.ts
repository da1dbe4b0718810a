/** Prints plain data as hand-written TypeScript: short values on one line, thousands separators, Infinity. JSON has none of these. */
import { groupDigits } from '../../text/format.ts'

/** Longer lines are broken up. */
const MAX_WIDTH = 80
const INDENT = '  '

/** Prints a value that begins at `column` of its line. */
export function literal(value: unknown, column = 0): string {
	if (typeof value === 'number') return number(value)
	if (typeof value === 'string') return quoted(value)
	if (Array.isArray(value)) return list(value, column)
	if (Object(value) !== value) return String(value)
	const fields = entriesOf(value).map(([name, one]) => `${name}: ${literal(one, name.length)}`)
	return braces(fields, column)
}

/** Returns the defined properties of an object, with names as they are printed before a colon. */
export function entriesOf(object: unknown): readonly (readonly [name: string, value: unknown])[] {
	return Object.entries(object as object)
		.filter(([, value]) => value !== undefined)
		.map(([name, value]) => [keyOf(name), value])
}

/** Quotes a name that is not an identifier. `__proto__` needs brackets, or it would set the prototype. */
const keyOf = (name: string): string => {
	if (name === '__proto__') return "['__proto__']"
	return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
}

/** Prints an object on one line, or with one item per line if that is too long. */
export function braces(items: readonly string[], column: number): string {
	if (items.length === 0) return '{}'
	const line = `{ ${items.join(', ')} }`
	return fits(line, column) ? line : `{\n${listed(items)}}`
}

/** Lists of numbers stay on one line, whatever their length. */
function list(values: readonly unknown[], column: number): string {
	const items = values.map((value) => literal(value))
	const line = `[${items.join(', ')}]`
	return fits(line, column) || values.every((value) => typeof value === 'number')
		? line
		: `[\n${listed(items)}]`
}

/** Includes the characters that may follow. */
const fits = (line: string, column: number): boolean =>
	column + line.length + '),'.length <= MAX_WIDTH && !line.includes('\n')

export const listed = (items: readonly string[]): string =>
	items.map((item) => `${indented(item)},\n`).join('')

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, INDENT)

function number(value: number): string {
	const text = String(value)
	const [, sign = '', whole = '', rest = ''] = /^(-?)(\d{4,})(\.\d+)?$/.exec(text) ?? []
	return whole === '' ? text : sign + groupDigits(whole, '_') + rest
}

/** Prints a string in single quotes, with JSON escapes. Line separators, which JSON does not escape, are escaped too: indentation would follow them. */
const quoted = (text: string): string =>
	`'${JSON.stringify(text)
		.slice(1, -1)
		.replaceAll('\\"', '"')
		.replaceAll("'", "\\'")
		.replaceAll('\u2028', '\\u2028')
		.replaceAll('\u2029', '\\u2029')}'`
