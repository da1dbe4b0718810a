/**
 * Retry-After, and the headers by which client and server coordinate retries across processes: a retry in
 * another process is detected like one in the same pipeline. Each header is omitted when it carries no
 * information, so most requests have none. A trace header was rejected: both sides would have to look the
 * trace up.
 */
import { type HeaderLookup, readRetryAfterHeaders, readWaitMs } from '../../core/headers/header-values.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { parseHttpDate } from './http-date.ts'

/**
 * Returns the wait that a Retry-After header asks for, in milliseconds, or undefined if the header is missing
 * or invalid. Use it with an HTTP client of your own; `ResilientHttpClient` and `resilientFetch` read the
 * header themselves.
 *
 * Accepts seconds and all three HTTP-date forms. A date is compared with `nowMs` (default: the wall clock); a
 * past date is a wait of 0. If the header occurs several times (a list, or joined by commas as in
 * `Headers.get`), the longest wait is used; seconds mixed with dates are invalid. The result is not capped,
 * except at `Number.MAX_SAFE_INTEGER`, so that it stays exact.
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

/** Returns the server's wall clock when it responded, or `nowMs` if there is no valid Date header. */
export function readServerTime(headers: HeaderLookup, nowMs: number): number {
	return parseHttpDate(headers.get('date') ?? '', nowMs) ?? nowMs
}

/** Returns the wait that a response asks for by any of its headers, in milliseconds, or undefined. */
export const readRetryAfter = (headers: HeaderLookup, nowMs: number): number | undefined =>
	readRetryAfterHeaders(headers, nowMs, parseHttpDate)

/** On a request: the number of the retry, from 1. Absent on the first attempt. */
export const RETRY_ATTEMPT = 'x-retry-attempt'

/** On a request: `outermost` if only the outermost retry layer may retry. */
export const RETRY_LAYER = 'x-retry-layer'

/** The only value of `x-retry-layer`. */
export const OUTERMOST = 'outermost'

/** On a response: `true` if an inner retry layer has exhausted its retries, so outer layers do not retry. */
export const RETRIES_EXHAUSTED = 'x-retries-exhausted'

/** Returns the number of the attempt at the caller, from 0. A malformed header counts as the first. */
export function readAttempt(headers: HeaderLookup): number {
	const text = headers.get(RETRY_ATTEMPT) ?? ''
	return /^\d{1,6}$/.test(text) ? Number(text) : 0
}

/** Returns which retry layer the caller wants to retry; undefined if the request does not say. */
export function readCallerRetry(headers: HeaderLookup): 'innermost' | 'outermost' | undefined {
	if (headers.get(RETRY_LAYER) === OUTERMOST) return 'outermost'
	return readAttempt(headers) > 0 ? 'innermost' : undefined
}

/**
 * Returns true if an inner retry layer has exhausted its retries for this response. The caller then does not
 * retry.
 *
 * @example
 * areRetriesExhausted(new Headers({ 'x-retries-exhausted': 'true' })) // => true
 */
export const areRetriesExhausted = (headers: HeaderLookup): boolean =>
	headers.get(RETRIES_EXHAUSTED) === 'true'
