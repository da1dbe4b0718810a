/**
 * What our client and our server tell each other about retries. Three small headers, each left out where it would say nothing, so
 * that most requests carry none of them: a retry that lies in another process is then known as well as one around it in the same
 * pipeline. A trace header would need both sides to look each other up; these are enough to decide.
 */
import type { HeaderReader } from './deadline-headers.ts'

/** On a request: which retry it is, from 1. The first attempt has no such header. */
export const RETRY_ATTEMPT = 'x-retry-attempt'

/** On a request: `outermost` when a retry further out wants to be the only one. */
export const RETRY_LAYER = 'x-retry-layer'

/** The one value of `x-retry-layer`. */
export const OUTERMOST = 'outermost'

/** On a response: `true` when a retry further in has given this up, so that nobody further out repeats it. */
export const RETRIES_EXHAUSTED = 'x-retries-exhausted'

/** Which attempt of its caller a request is, from 0. Anything malformed is a first attempt. */
export function readAttempt(headers: HeaderReader): number {
	const text = headers.get(RETRY_ATTEMPT) ?? ''
	return /^\d{1,6}$/.test(text) ? Number(text) : 0
}

/** Which of its retries the caller wants to do it; undefined when it says nothing about retries. */
export function readCallerRetry(headers: HeaderReader): 'innermost' | 'outermost' | undefined {
	if (headers.get(RETRY_LAYER) === OUTERMOST) return 'outermost'
	return readAttempt(headers) > 0 ? 'innermost' : undefined
}

/**
 * Has a retry further in given up what this response answers? Then its caller leaves it at that.
 *
 * @example
 * if (saysRetriesExhausted(response.headers)) return response
 */
export const areRetriesExhausted = (headers: HeaderReader): boolean =>
	headers.get(RETRIES_EXHAUSTED) === 'true'
