/** Translates the status of an attempt into a failure, and the failure of a call into the caller's status. */
import { DeadlineExceededError } from '../../core/errors/errors.ts'
import { isAtDeadline } from '../policy/call-failures.ts'
import type { Rpc } from '../policy/rpc.ts'
import { PUSHBACK_KEY, parsePushback } from '../status/retry-metadata.ts'
import { RESOURCE_EXHAUSTED, UNAVAILABLE } from '../status/status.ts'
import { GrpcStatusError, setOversized, statusOf } from '../status/status-error.ts'
import type { GrpcMetadata, GrpcModule, GrpcStatus } from './grpc-types.ts'

/** Details of a message above `grpc.max_send_message_length`. Nothing else tells it from a server's. */
const OVERSIZED = 'Attempted to send message with a size larger than '

type StatusText = Pick<GrpcStatus, 'code' | 'details'>

export const isOversizedStatus = ({ code, details }: StatusText): boolean =>
	code === RESOURCE_EXHAUSTED && details.startsWith(OVERSIZED)

/** Returns the failure of an attempt that has ended with this status. */
export function failureOf(rpc: Rpc, { code, details, metadata }: GrpcStatus): GrpcStatusError {
	const isExpired = isAtDeadline(code, rpc.deadline)
	const isInherited = isExpired && rpc.isDeadlineInherited
	const pushbackMs = parsePushback(metadata.get(PUSHBACK_KEY))
	const options = isExpired ? { cause: new DeadlineExceededError() } : undefined
	const failure = new GrpcStatusError({ code, details, metadata, pushbackMs, isInherited }, options)
	if (isOversizedStatus(failure)) setOversized(failure)
	return failure
}

/** Nothing else tells it from a server's status. A connection that was not established has another text. */
const LOST_CONNECTION = /^(Connection dropped|(read|write) E(CONNRESET|TIMEDOUT|PIPE))$/

/** Returns true if the connection was lost while the attempt was in flight. */
export const isConnectionLost = ({ code, details }: StatusText): boolean =>
	code === UNAVAILABLE && LOST_CONNECTION.test(details)

/** Returns true for response headers of gRPC. A proxy sends others, with a page instead of messages. */
export function isGrpcResponse(metadata: GrpcMetadata): boolean {
	const [contentType] = metadata.get('content-type')
	return typeof contentType === 'string' && contentType.startsWith('application/grpc')
}

/** Returns the status of a call that ends with this error. The caller's error has the same fields. */
export function failedStatus(error: unknown, grpc: GrpcModule): GrpcStatus {
	if (!(error instanceof GrpcStatusError))
		return { ...statusOf(error), metadata: new grpc.Metadata(), cause: error }
	const { code, details, cause } = error
	const metadata = (error.metadata as GrpcMetadata | undefined) ?? new grpc.Metadata()
	return { code, details, metadata, ...(cause !== undefined && { cause }) }
}
