/**
 * What the readers of header fields share. A field's value is trimmed of spaces and tabs only, as HTTP says, and a number is
 * what its digits say: `trim` would also take a no-break space, and `Number` also `1e3`, `0x10` and the empty string.
 */

/** Where header fields are looked up: a `Headers`, or anything that answers like one. */
export interface HeaderLookup {
	get(name: string): string | null
}

const isBlank = (text: string, at: number): boolean => text[at] === ' ' || text[at] === '\t'

/** The value without the spaces and tabs around it. By hand: a pattern for the end is quadratic in a long run of spaces. */
export function trimBlanks(text: string): string {
	let start = 0
	let end = text.length
	while (start < end && isBlank(text, start)) start++
	while (end > start && isBlank(text, end - 1)) end--
	return text.slice(start, end)
}

/** Fifteen digits are exact as a number. */
const DECIMAL = /^\d{1,15}(?:\.\d{1,15})?$/

/** A number of 0 or more, with or without decimals, or undefined for anything else. */
export function readDecimal(text: string): number | undefined {
	const value = trimBlanks(text)
	return DECIMAL.test(value) ? Number(value) : undefined
}
