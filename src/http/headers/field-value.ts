/**
 * Helpers shared by the header parsers. HTTP trims a field value of spaces and tabs only, and a number consists of digits only:
 * `String.trim` would also remove a no-break space, and `Number` would also accept `1e3`, `0x10` and the empty string.
 */

/** Looks up a header by its lower-case name: a `Headers` object, or anything with the same method. */
export interface HeaderLookup {
	get(name: string): string | null | undefined
}

const isBlank = (text: string, index: number): boolean => text[index] === ' ' || text[index] === '\t'

/** Returns the value without leading and trailing spaces and tabs. A regular expression would be quadratic in a long run of spaces. */
export function trimBlanks(text: string): string {
	let start = 0
	let end = text.length
	while (start < end && isBlank(text, start)) start++
	while (end > start && isBlank(text, end - 1)) end--
	return text.slice(start, end)
}

/** Fifteen digits fit exactly into a number. */
const DECIMAL = /^\d{1,15}(?:\.\d{1,15})?$/

/** Returns a non-negative number with or without decimals, or undefined for anything else. */
export function readDecimal(text: string): number | undefined {
	const value = trimBlanks(text)
	return DECIMAL.test(value) ? Number(value) : undefined
}
