/**
 * Retry-After as a wait. It is strict, because a wrong guess is a wait that nobody asked for: a value is digits or an HTTP date,
 * and one line that is neither spoils the others. It never caps what was asked: whether an hour is too long
 * is for the policy to say, which can then tell the caller how long it would have been.
 */
import { systemRuntime } from '../../core/runtime/system.ts'
import { trimBlanks } from './field-value.ts'
import { parseHttpDate } from './http-date.ts'

/** Several lines come as one, joined by commas. A comma after a small letter is that of a date: only day names end in one. */
const BETWEEN_LINES = /(?<![a-z]),/

const SECONDS = /^\d+$/

/**
 * The wait that a Retry-After header asks for, in milliseconds, or undefined when there is none or it is not valid.
 *
 * Takes seconds and all three forms of an HTTP date, which is measured against `nowMs` (default: the wall clock); a date in the past
 * is a wait of 0. Several lines, as a list or joined by commas as `Headers.get` gives them, ask for the longest of their waits;
 * seconds mixed with dates ask for nothing. It does not cap, but to keep the answer exact: at `Number.MAX_SAFE_INTEGER`.
 *
 * @example
 * parseRetryAfter('120')                                                            // 120000
 * parseRetryAfter('Sun, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49))    // 37000
 * parseRetryAfter(response.headers.get('retry-after')) ?? 1_000
 */
export function parseRetryAfter(
	value: string | readonly string[] | null | undefined,
	nowMs: number = systemRuntime.wallNow(),
): number | undefined {
	const lines: readonly unknown[] = Array.isArray(value) ? value : [value]
	// What is no text, as from a caller without types, is like an empty line: not valid.
	const asked = lines.flatMap((line) => (typeof line === 'string' ? line.split(BETWEEN_LINES) : ''))
	if (asked.length === 0) return undefined
	const texts = asked.map(trimBlanks)
	const waits = texts.every((text) => SECONDS.test(text))
		? texts.map((text) => Number(text) * 1_000)
		: // What is no date is NaN, and so is then the greatest of all.
			texts.map((text) => (parseHttpDate(text, nowMs) ?? Number.NaN) - nowMs)
	const longest = waits.reduce((longer, wait) => Math.max(longer, wait), 0)
	return Number.isNaN(longest) ? undefined : Math.min(longest, Number.MAX_SAFE_INTEGER)
}
