/** Plain data as TypeScript, as a person would write it: short things on a line, thousands apart. JSON has neither, nor Infinity. */

/** A line that would be longer is broken up. */
const WIDEST = 80
const INDENT = '  '

/** `column` is where it begins on its line. */
export function literal(value: unknown, column = 0): string {
	if (typeof value === 'number') return number(value)
	if (typeof value === 'string') return quoted(value)
	if (Array.isArray(value)) return list(value, column)
	if (Object(value) !== value) return String(value)
	const fields = entriesOf(value).map(([name, one]) => `${name}: ${literal(one, name.length)}`)
	return braces(fields, column)
}

/** What an object holds, without what is left out, by names that can stand before a colon. */
export function entriesOf(object: unknown): readonly (readonly [name: string, value: unknown])[] {
	return Object.entries(object as object)
		.filter(([, value]) => value !== undefined)
		.map(([name, value]) => [keyOf(name), value])
}

/** As a plain name where it can be one. The one in brackets would be no field otherwise. */
const keyOf = (name: string): string => {
	if (name === '__proto__') return "['__proto__']"
	return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
}

/** On one line, or each item on its own where that would be too long. */
export function braces(items: readonly string[], column: number): string {
	if (items.length === 0) return '{}'
	const line = `{ ${items.join(', ')} }`
	return fits(line, column) ? line : `{\n${listed(items)}}`
}

/** Numbers stay on one line, however many. */
function list(values: readonly unknown[], column: number): string {
	const items = values.map((value) => literal(value))
	const line = `[${items.join(', ')}]`
	return fits(line, column) || values.every((value) => typeof value === 'number')
		? line
		: `[\n${listed(items)}]`
}

/** With what may follow. */
const fits = (line: string, column: number): boolean =>
	column + line.length + '),'.length <= WIDEST && !line.includes('\n')

/** Each on a line of its own, further in. */
export const listed = (items: readonly string[]): string =>
	items.map((item) => `${indented(item)},\n`).join('')

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, INDENT)

/** With thousands apart, where there are any. */
function number(value: number): string {
	const text = String(value)
	return /^-?\d{4,}(\.|$)/.test(text) ? text.replaceAll(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, '_') : text
}

/** In single quotes, and as JSON escapes it otherwise. */
const quoted = (text: string): string =>
	`'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
