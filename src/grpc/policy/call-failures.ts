/** Failures of calls that do not come from the server. */
import type { Deadline } from '../../core/deadline/deadline.ts'
import { type DeadlineExceededError, YaokiError } from '../../core/errors/errors.ts'
import type { StopReason } from '../../core/explain/record.ts'
import { CANCELLED, DEADLINE_EXCEEDED, INTERNAL, type StatusCode } from '../status/status.ts'
import { type FailedStatus, GrpcStatusError, statusOf } from '../status/status-error.ts'
import type { Rejection } from './rpc.ts'

/** An attempt may end a little before the deadline: libraries truncate milliseconds, and clocks differ. */
const DEADLINE_TOLERANCE_MS = 5

/** Returns true if this code reports that the deadline of the call itself has passed. */
export const isAtDeadline = (code: StatusCode, deadline: Deadline | undefined): boolean =>
	code === DEADLINE_EXCEEDED && deadline !== undefined && deadline.remainingMs < DEADLINE_TOLERANCE_MS

const failureOf = (status: Omit<FailedStatus, 'metadata'>, options?: ErrorOptions): GrpcStatusError =>
	new GrpcStatusError({ ...status, metadata: undefined }, options)

/** Returns the failure of a call whose parent call has ended. */
export function parentFailure(reason: unknown): GrpcStatusError {
	const isDeadline = statusOf(reason).code === DEADLINE_EXCEEDED
	const code = isDeadline ? DEADLINE_EXCEEDED : CANCELLED
	const details = isDeadline ? 'the deadline of the call around has passed' : 'the call around was cancelled'
	const options = reason === undefined ? undefined : { cause: reason }
	return failureOf({ code, details, isInherited: true }, options)
}

/** Returns the failure of a call whose metadata cannot be sent. */
export const invalidMetadata = (details: string): GrpcStatusError => failureOf({ code: INTERNAL, details })

/** Returns the failure of a call whose deadline, or with `isInherited` its parent's, has passed. */
export const expired = (error: DeadlineExceededError, isInherited: boolean): GrpcStatusError =>
	failureOf({ code: DEADLINE_EXCEEDED, details: error.message, isInherited }, { cause: error })

/** Returns the failure of a call whose caller does not read the whole response. */
export const stoppedReading = (): GrpcStatusError =>
	failureOf({ code: CANCELLED, details: 'the caller stopped reading the response' })

/** Returns why a call has no more attempts after it was cancelled with this failure. */
export const stopOf = ({ code }: GrpcStatusError): StopReason =>
	code === DEADLINE_EXCEEDED ? 'deadline' : 'abort'

/** Returns the rejection of a call that was cancelled before it begins. */
export const rejectionOf = (error: GrpcStatusError): Rejection => ({ error, stop: stopOf(error) })

/** Ends an attempt of a hedged call that another attempt has answered. It is no failure of the server. */
export class DiscardedError extends YaokiError {
	constructor() {
		super('YAOKI_CANCELLED', 'another request of this call was answered first')
	}
}
