/** The error of an attempt, as calls of Connect need it. Callers of nice-grpc receive a `ClientError`. */
import { safeGet, safeMessage } from '../../core/classify/safe-get.ts'
import type { RpcError } from '../connect/connect-types.ts'
import { isConnectionLost, isOversizedStatus } from '../grpc-js/statuses.ts'
import { PUSHBACK_KEY } from '../status/retry-metadata.ts'
import { UNKNOWN } from '../status/status.ts'
import type { NiceMetadata } from './nice-types.ts'

/** The trailers of failed attempts. */
const trailers = /* @__PURE__ */ new WeakMap<object, NiceMetadata>()

export function setTrailer(error: unknown, trailer: NiceMetadata | undefined): void {
	if (error instanceof Error && trailer) trailers.set(error, trailer)
}

export const trailerOf = (error: unknown): NiceMetadata | undefined =>
	error instanceof Error ? trailers.get(error) : undefined

export class CallError extends Error implements RpcError {
	override readonly name = 'CallError'
	readonly code: number
	readonly rawMessage: string
	readonly metadata: Headers
	readonly details: readonly unknown[] = []
	isWireError = false
	isConnectionLost = false
	isOversized = false

	constructor(message: string, code: number, metadata?: Headers, _details?: unknown, cause?: unknown) {
		super(message, cause === undefined ? undefined : { cause })
		this.code = code
		this.rawMessage = message
		this.metadata = metadata ?? new Headers()
	}

	static from(this: void, reason: unknown): CallError {
		if (reason instanceof CallError) return reason
		const [code, details] = [safeGet(reason, 'code'), safeGet(reason, 'details')]
		if (typeof code !== 'number' || typeof details !== 'string')
			return new CallError(safeMessage(reason), UNKNOWN, undefined, undefined, reason)
		const error = new CallError(details, code, pushbackOf(reason), undefined, reason)
		error.isConnectionLost = isConnectionLost({ code, details })
		error.isOversized = isOversizedStatus({ code, details })
		error.isWireError = !error.isConnectionLost && !error.isOversized
		return error
	}
}

function pushbackOf(error: unknown): Headers {
	const value = trailerOf(error)?.get(PUSHBACK_KEY)
	return new Headers(typeof value === 'string' ? { [PUSHBACK_KEY]: value } : {})
}
