/**
 * What an event says about the service, as one number. What the policy did about it does not matter: a
 * rejection by the client's own policy says nothing about the service, and a permanent failure such as a 404
 * shows that it works.
 */
import type { ErrorFacts, RetryAttemptEvent, RetryFailureEvent } from '../../../core/events/events.ts'

/** `timedOut`: no response for as long as the caller waited. `rejected`: by a policy, so that no request was sent. */
export const OUTCOME = { responded: 0, failed: 1, timedOut: 2, rejected: 3, unknown: 4 } as const

export type Outcome = (typeof OUTCOME)[keyof typeof OUTCOME]

export const encodeOutcome = (outcome: Outcome, isCallFailed: boolean, status = 0): number =>
	outcome + (isCallFailed ? 8 : 0) + 16 * status

export const outcomeOf = (code: number): number => code % 8
export const isCallFailed = (code: number): boolean => code % 16 >= 8
export const statusOf = (code: number): number => Math.floor(code / 16)

const REJECTIONS: ReadonlySet<string> = new Set([
	'CircuitOpenError',
	'BulkheadRejectedError',
	'RateLimitedError',
	'DeadlineExceededError',
])

/** Error codes of sockets, HTTP clients and databases for a timeout: ETIMEDOUT, UND_ERR_HEADERS_TIMEOUT, ... */
const TIMEOUT_CODE = /TIMED_?OUT$|TIMEOUT$/

export function codeForError(facts: ErrorFacts, failsCall: boolean): number {
	const { errorType = '', errorCode = '', statusCode = 0, timeoutMs } = facts
	if (REJECTIONS.has(errorType)) return encodeOutcome(OUTCOME.rejected, failsCall)
	// A 504 is a response of the service that was called.
	if (statusCode >= 400 && statusCode <= 599) return encodeOutcome(OUTCOME.failed, failsCall, statusCode)
	const isTimeout =
		timeoutMs !== undefined || errorType === 'TimeoutError' || TIMEOUT_CODE.test(String(errorCode))
	return encodeOutcome(isTimeout ? OUTCOME.timedOut : OUTCOME.failed, failsCall)
}

/** Reasons to stop that say nothing about the last attempt: the caller, a hook or another branch ended the call. */
const UNINFORMATIVE: ReadonlySet<string> = new Set(['abort', 'cancelled', 'hook-threw', 'interrupted'])

/** Returns the code for the last attempt of a call that failed. */
export function codeForFailure(event: RetryFailureEvent): number {
	const { stop, attempts, durationMs, errorType } = event
	if (stop === 'permanent') return encodeOutcome(OUTCOME.responded, true)
	// A limit around the retry. Only a first attempt is known to have been in flight all that time.
	if (stop === 'timeout' || (stop === 'deadline' && errorType === 'DeadlineExceededError'))
		return encodeOutcome(attempts === 1 && durationMs > 0 ? OUTCOME.timedOut : OUTCOME.unknown, true)
	const code = codeForError(event, true)
	if (UNINFORMATIVE.has(stop) && outcomeOf(code) !== OUTCOME.rejected)
		return encodeOutcome(OUTCOME.unknown, true)
	return code
}

export function codeForRetry(event: RetryAttemptEvent): number {
	if (event.outcome === 'unwanted-result') return encodeOutcome(OUTCOME.failed, false)
	const code = codeForError(event, false)
	return event.outcome === 'cancelled' && outcomeOf(code) !== OUTCOME.rejected
		? encodeOutcome(OUTCOME.unknown, false)
		: code
}
