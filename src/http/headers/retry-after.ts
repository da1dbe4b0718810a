/**
 * Reads Retry-After. Parsing is strict, because a wrong guess is a wait that the server did not ask for: a value is digits or an HTTP
 * date, and one malformed line makes all lines invalid. Nothing is capped here: the policy decides whether an hour is too long, and its
 * error can then say how long the server asked for.
 */
import { systemRuntime } from '../../core/runtime/system.ts'
import { type HeaderLookup, readDecimal, trimBlanks } from './field-value.ts'
import { parseHttpDate } from './http-date.ts'

/** Several lines arrive as one, joined by commas. A comma after a lower-case letter belongs to a date: it follows the day name. */
const LINE_SEPARATOR = /(?<![a-z]),/

const SECONDS = /^\d+$/

/**
 * Returns the wait that a Retry-After header asks for, in milliseconds, or undefined if the header is missing or invalid.
 *
 * Accepts seconds and all three HTTP-date forms. A date is compared with `nowMs` (default: the wall clock); a past date is a wait of 0.
 * If the header occurs several times (a list, or joined by commas as in `Headers.get`), the longest wait is used; seconds mixed with dates
 * are invalid. The result is not capped, except at `Number.MAX_SAFE_INTEGER`, so that it stays exact.
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
	// Untyped callers may pass anything: what is not a string is invalid, like an empty line.
	const parts = lines.flatMap((line) => (typeof line === 'string' ? line.split(LINE_SEPARATOR) : ''))
	if (parts.length === 0) return undefined
	const texts = parts.map(trimBlanks)
	const waits = texts.every((text) => SECONDS.test(text))
		? texts.map((text) => Number(text) * 1_000)
		: // An invalid date is NaN, and Math.max then returns NaN.
			texts.map((text) => (parseHttpDate(text, nowMs) ?? Number.NaN) - nowMs)
	const longest = waits.reduce((longer, wait) => Math.max(longer, wait), 0)
	return Number.isNaN(longest) ? undefined : Math.min(longest, Number.MAX_SAFE_INTEGER)
}

/** These come first: servers that send them (OpenAI, Azure) also send Retry-After, rounded up to whole seconds. */
const MILLISECOND_HEADERS = ['retry-after-ms', 'x-ms-retry-after-ms']

/** Returns the server's wall clock at the time of the response, or `nowMs` if the response has no valid Date. */
export function readServerTime(headers: HeaderLookup, nowMs: number): number {
	return parseHttpDate(headers.get('date') ?? '', nowMs) ?? nowMs
}

/**
 * Returns the wait that a response asks for by any of its headers, in milliseconds, or undefined. A date is compared with the clock that
 * wrote it, the response's own Date: on a machine whose clock is five minutes slow the wait would otherwise be five minutes too long.
 */
export function readRetryAfter(headers: HeaderLookup, nowMs: number): number | undefined {
	for (const name of MILLISECOND_HEADERS) {
		const wait = readDecimal(headers.get(name) ?? '')
		if (wait !== undefined) return wait
	}
	const value = headers.get('retry-after') ?? null
	return value === null ? undefined : parseRetryAfter(value, readServerTime(headers, nowMs))
}
