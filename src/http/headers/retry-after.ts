import { type HeaderLookup, readRetryAfterHeaders, readWaitMs } from '../../core/headers/header-values.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { parseHttpDate } from './http-date.ts'

/**
 * Returns the wait that a Retry-After header asks for, in milliseconds, or undefined if the header is missing or invalid. Use it
 * with an HTTP client of your own; `ResilientHttpClient` and `resilientFetch` read the header themselves.
 *
 * Accepts seconds and all three HTTP-date forms. A date is compared with `nowMs` (default: the wall clock); a past date is a wait of 0.
 * If the header occurs several times (a list, or joined by commas as in `Headers.get`), the longest wait is used; seconds mixed with dates
 * are invalid. The result is not capped, except at `Number.MAX_SAFE_INTEGER`, so that it stays exact.
 *
 * @example
 * parseRetryAfter('120') // => 120_000
 * parseRetryAfter('Sun, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49)) // => 37_000
 * parseRetryAfter(new Response().headers.get('retry-after')) ?? 1_000 // => 1_000
 */
export function parseRetryAfter(
	value: string | readonly string[] | null | undefined,
	nowMs: number = systemRuntime.wallNow(),
): number | undefined {
	return readWaitMs(Array.isArray(value) ? value : [value], nowMs, parseHttpDate)
}

/** Returns the server's wall clock at the time of the response, or `nowMs` if the response has no valid Date. */
export function readServerTime(headers: HeaderLookup, nowMs: number): number {
	return parseHttpDate(headers.get('date') ?? '', nowMs) ?? nowMs
}

/** Returns the wait that a response asks for by any of its headers, in milliseconds, or undefined. */
export const readRetryAfter = (headers: HeaderLookup, nowMs: number): number | undefined =>
	readRetryAfterHeaders(headers, nowMs, parseHttpDate)
