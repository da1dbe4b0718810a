/** The statuses that a server sends for its handlers. */
import { BulkheadRejectedError, DeadlineExceededError } from '../../core/errors/errors.ts'
import { DEADLINE_EXCEEDED, INTERNAL, type StatusCode, UNAVAILABLE } from '../status/status.ts'

/** The status that an interceptor sends for the handler. */
export interface ServerFailure {
	readonly code: StatusCode
	readonly details: string
	/** The value of `grpc-retry-pushback-ms`; undefined for none. */
	readonly pushback: string | undefined
	/** Why the call has failed. */
	readonly error: unknown
}

export const expiredFailure = (error: unknown): ServerFailure => ({
	code: DEADLINE_EXCEEDED,
	details: 'the deadline of the call has passed',
	pushback: undefined,
	error,
})

/**
 * Returns the status of a call that was rejected before its handler has started. UNAVAILABLE and not
 * RESOURCE_EXHAUSTED: the handler has seen nothing of the call, so a retry is safe, UNAVAILABLE is the code
 * that retry policies name, and clients observe a pushback only if the policy names the code.
 * (RESOURCE_EXHAUSTED is also sent for quotas and for messages that are too large, where a retry would not
 * help.)
 */
export function rejectionFailure(
	error: unknown,
	isExpired: boolean,
	pushback: () => string | undefined,
): ServerFailure {
	if (isExpired) return expiredFailure(error)
	// The time left is too short for the queue here. Another server may still be in time.
	const isBusy = error instanceof BulkheadRejectedError || error instanceof DeadlineExceededError
	if (isBusy)
		return {
			code: UNAVAILABLE,
			details: 'the server is at its limit of concurrent calls',
			pushback: pushback(),
			error,
		}
	return { code: INTERNAL, details: 'the call was not admitted', pushback: undefined, error }
}
