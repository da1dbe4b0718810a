/** The failures of attempts as statuses, and what is known about a failure besides its status. */
import { CANCELLED as CANCELLED_KIND, type Classification } from '../../core/classify/classification.ts'
import { classify } from '../../core/classify/classify.ts'
import { safeMessage } from '../../core/classify/safe-get.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import { NO_RETRY } from './retry-metadata.ts'
import {
	CANCELLED,
	DEADLINE_EXCEEDED,
	INTERNAL,
	RESOURCE_EXHAUSTED,
	STATUS_NAMES,
	type StatusCode,
	type StatusName,
	statusNameOf,
	UNAVAILABLE,
} from './status.ts'

/** The facts of a status other than OK. */
export interface FailedStatus {
	readonly code: StatusCode
	readonly details: string
	/** The trailers: a `Metadata` of grpc-js, or the `Headers` of Connect. */
	readonly metadata: unknown
	/** The delay that the server asks for. Negative: it asks not to retry. Undefined: it asks for nothing. */
	readonly pushbackMs?: number | undefined
	/** True if the deadline of the calling request has passed, and not one that was set for this call. */
	readonly isInherited?: boolean | undefined
}

/**
 * An attempt of a gRPC call ended with a status other than OK. The options `onRetry`, `isFailure` and
 * `classify` receive it; callers receive the error of their own library.
 *
 * @example
 * import * as grpc from '@grpc/grpc-js'
 *
 * const isFailure = (error: unknown) => error instanceof GrpcStatusError && error.code === 14
 * resilientInterceptor(grpc, { circuitBreaker: { isFailure } })
 */
export class GrpcStatusError extends Error {
	override readonly name = 'GrpcStatusError'
	/** The status code, such as 14. */
	readonly code: StatusCode
	/** The name of the status code, such as `'UNAVAILABLE'`. */
	readonly statusName: StatusName
	readonly details: string
	/** The trailers: a `Metadata` of grpc-js, or the `Headers` of Connect. */
	readonly metadata: unknown
	/**
	 * The delay in milliseconds that the server asks for. Negative: no retry. Undefined: it asks for nothing.
	 */
	readonly pushbackMs: number | undefined
	/** True if the deadline of the calling request has passed, and not one that was set for this call. */
	readonly isInherited: boolean

	constructor(
		{ code, details, metadata, pushbackMs, isInherited = false }: FailedStatus,
		options?: ErrorOptions,
	) {
		super(`${code} ${statusNameOf(code)}${details ? `: ${details}` : ''}`, options)
		this.code = code
		this.statusName = statusNameOf(code)
		this.details = details
		this.metadata = metadata
		this.pushbackMs = pushbackMs
		this.isInherited = isInherited
	}
}

/** Core's classification of each code. */
const KINDS: readonly Classification[] = /* @__PURE__ */ STATUS_NAMES.map((_, code) =>
	classify({ code, details: '' }),
)
const OVERSIZED: Classification = { kind: 'permanent', isKnown: true }
const UNDEFINED_CODE: Classification = { kind: 'transient', isKnown: true }

/** Returns what a status means for breakers, with the wait that the server asks for. */
export function classifyStatus(error: GrpcStatusError): Classification {
	const { code, pushbackMs, isInherited } = error
	if (isInherited) return CANCELLED_KIND
	if (isOversized(error)) return OVERSIZED
	const classification = KINDS[code] ?? UNDEFINED_CODE
	return pushbackMs === undefined || pushbackMs === NO_RETRY
		? classification
		: { ...classification, retryAfterMs: pushbackMs }
}

const CODES: Readonly<Record<string, StatusCode>> = {
	YAOKI_CIRCUIT_OPEN: UNAVAILABLE,
	YAOKI_BULKHEAD_REJECTED: RESOURCE_EXHAUSTED,
	YAOKI_RATE_LIMITED: RESOURCE_EXHAUSTED,
	YAOKI_DEADLINE_EXCEEDED: DEADLINE_EXCEEDED,
	YAOKI_TIMEOUT: DEADLINE_EXCEEDED,
	YAOKI_CANCELLED: CANCELLED,
}

/**
 * Returns the status for a failure that did not come from the server. What user code has thrown, such as a
 * classifier, is INTERNAL: gRPC's code for broken invariants, which service configs hardly ever retry.
 */
export function statusOf(error: unknown): { readonly code: StatusCode; readonly details: string } {
	const code = error instanceof YaokiError ? CODES[error.code] : undefined
	return { code: code ?? INTERNAL, details: safeMessage(error) }
}

/** Failures of messages that are larger than the client may send. The server has not seen them. */
const oversized = /* @__PURE__ */ new WeakSet<object>()

export function setOversized(failure: Error): void {
	oversized.add(failure)
}

export const isOversized = (failure: unknown): boolean => failure instanceof Error && oversized.has(failure)

/** The connection of an attempt was lost while it was in flight. */
export interface LostConnection {
	/** The address of the server. */
	readonly peer: string
	/** The number of the attempt among all attempts of the interceptor, from 1. */
	readonly attempt: number
}

/** Lost connections by failure. Each attempt of a hedged call has its own failure. */
const lostConnections = /* @__PURE__ */ new WeakMap<object, LostConnection>()

export function setLostConnection(failure: Error, lost: LostConnection): void {
	lostConnections.set(failure, lost)
}

export const lostConnectionOf = (failure: unknown): LostConnection | undefined =>
	failure instanceof Error ? lostConnections.get(failure) : undefined
