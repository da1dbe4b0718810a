/**
 * Reads values of headers, and Retry-After. HTTP trims a field value of spaces and tabs only, and a number
 * consists of digits only: `String.trim` would also remove a no-break space, and `Number` would also accept
 * `1e3`, `0x10` and the empty string.
 *
 * Retry-After is parsed strictly, because a wrong guess is a wait that the server did not ask for: a value is
 * digits or an HTTP date, and one malformed line makes all lines invalid. Nothing is capped here: the policy
 * decides whether an hour is too long, and its error can then say how long the server asked for. The parser
 * of dates is a parameter: `yaoki/http` reads all three forms and leap seconds, which costs 0.5 kB; core
 * itself reads the one form that servers may send.
 */

/** Looks up a header by its lower-case name: a `Headers` object, or anything with the same method. */
export interface HeaderLookup {
	get(name: string): string | null | undefined
}

const isBlank = (character: string | undefined): boolean => character === ' ' || character === '\t'

/** Removes spaces and tabs around a value. A regular expression would take quadratic time. */
export function trimBlanks(text: string): string {
	let start = 0
	let end = text.length
	while (isBlank(text[start])) start++
	while (end > start && isBlank(text[end - 1])) end--
	return text.slice(start, end)
}

/** Fifteen digits fit exactly into a number. */
const DECIMAL = /^\d{1,15}(?:\.\d{1,15})?$/

/** Returns a non-negative number with or without decimals, or undefined for anything else. */
export function readDecimal(text: string): number | undefined {
	const value = trimBlanks(text)
	return DECIMAL.test(value) ? Number(value) : undefined
}

/** Returns milliseconds since 1970, or undefined if the text is not a valid date. */
export type DateParser = (text: string, nowMs: number) => number | undefined

/** Parses `Sun, 06 Nov 1994 08:49:37 GMT`. What JavaScript prints differently is another date or none. */
const parseFixdate: DateParser = (text) => {
	const time = Date.parse(text)
	return new Date(time).toUTCString() === text ? time : undefined
}

/** Splits joined lines. A comma after a lower-case letter follows the day name of a date. */
const LINE_SEPARATOR = /(?<![a-z]),/

const SECONDS = /^\d+$/

/** Returns the wait of a Retry-After header in milliseconds; undefined if one of its lines is invalid. */
export function readWaitMs(
	lines: readonly unknown[],
	nowMs: number,
	parseDate: DateParser = parseFixdate,
): number | undefined {
	// Untyped callers may pass anything: what is not a string is invalid, like an empty line.
	const parts = lines.flatMap((line) => (typeof line === 'string' ? line.split(LINE_SEPARATOR) : ''))
	if (parts.length === 0) return undefined
	const texts = parts.map(trimBlanks)
	const waits = texts.every((text) => SECONDS.test(text))
		? texts.map((text) => Number(text) * 1_000)
		: // An invalid date is NaN, and Math.max then returns NaN.
			texts.map((text) => (parseDate(text, nowMs) ?? Number.NaN) - nowMs)
	const longest = waits.reduce((longer, wait) => Math.max(longer, wait), 0)
	return Number.isNaN(longest) ? undefined : Math.min(longest, Number.MAX_SAFE_INTEGER)
}

/** Read first: OpenAI and Azure also send Retry-After, rounded up to whole seconds. */
const MILLISECOND_HEADERS = ['retry-after-ms', 'x-ms-retry-after-ms']

/**
 * Returns the wait that a response asks for by any of its headers, in milliseconds, or undefined. A date is
 * compared with the clock that wrote it, the response's own Date: on a machine whose clock is five minutes
 * slow the wait would otherwise be five minutes too long.
 */
export function readRetryAfterHeaders(
	headers: HeaderLookup,
	nowMs: number,
	parseDate: DateParser = parseFixdate,
): number | undefined {
	for (const name of MILLISECOND_HEADERS) {
		const wait = readDecimal(headers.get(name) ?? '')
		if (wait !== undefined) return wait
	}
	const value = headers.get('retry-after')
	return value
		? readWaitMs([value], parseDate(headers.get('date') ?? '', nowMs) ?? nowMs, parseDate)
		: undefined
}
