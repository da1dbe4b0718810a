/**
 * Headers by which client and server coordinate retries across processes: a retry in another process is detected like one in the same
 * pipeline. Each header is omitted when it carries no information, so most requests have none. A trace header was rejected: both sides
 * would have to look the trace up.
 */
import type { HeaderLookup } from '../../core/headers/header-values.ts'

/** On a request: the number of the retry, from 1. Absent on the first attempt. */
export const RETRY_ATTEMPT = 'x-retry-attempt'

/** On a request: `outermost` if only the outermost retry layer may retry. */
export const RETRY_LAYER = 'x-retry-layer'

/** The only value of `x-retry-layer`. */
export const OUTERMOST = 'outermost'

/** On a response: `true` if an inner retry layer has exhausted its retries, so that outer layers do not retry. */
export const RETRIES_EXHAUSTED = 'x-retries-exhausted'

/** Returns the attempt number of the request at its caller, from 0. A malformed header counts as the first attempt. */
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
 * Returns true if an inner retry layer has exhausted its retries for this response. The caller then does not retry.
 *
 * @example
 * areRetriesExhausted(new Headers({ 'x-retries-exhausted': 'true' })) // => true
 */
export const areRetriesExhausted = (headers: HeaderLookup): boolean =>
	headers.get(RETRIES_EXHAUSTED) === 'true'
