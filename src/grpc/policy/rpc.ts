import { Deadline } from '../../core/deadline/deadline.ts'
import type { Call } from '../../core/engine/call.ts'
import type { CallExtension } from '../../core/engine/call-extension.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import type { StopReason } from '../../core/explain/record.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { GrpcEventFields } from '../interceptor/grpc-interceptor.ts'
import type { MethodConfig, MethodName } from '../service-config/service-config.ts'
import { type StatusName, statusNameOf } from '../status/status.ts'
import { GrpcStatusError, statusOf } from '../status/status-error.ts'

/** A method of a service with its settings. */
export interface GrpcMethod extends MethodName {
	/** `/service/method` */
	readonly path: string
	readonly config: MethodConfig | undefined
	/** False if the messages of a call need not be kept: nothing sends them again. */
	readonly isRepeatable: boolean
}

/** Why a call ends without any attempt. */
export interface Rejection {
	readonly error: unknown
	readonly stop: StopReason
}

/**
 * What the policies know about a gRPC call, whatever library sends it: the options of its call in core, and
 * what its attempts have in common.
 */
export class Rpc implements CallOptions, CallExtension {
	readonly target: GrpcMethod
	/** The earliest of the caller's deadline, the method's timeout, and the deadline of the parent call. */
	readonly deadline: Deadline | undefined
	/** The time until the deadline when the call was created; Infinity without a deadline. */
	readonly givenMs: number
	/** True if the deadline is the deadline of the parent call. */
	readonly isDeadlineInherited: boolean
	/** The call or request in which this call is made. */
	readonly parent: CallOptions | undefined
	/** The key of its circuit breaker, if it has one. */
	key: string | undefined
	/** Allows that breaker to be evicted again. */
	releaseBreaker: (() => void) | undefined
	call: Call | undefined
	/** True if no retry is possible: the response has begun, or a message did not fit into the buffer. */
	isCommitted = false
	committedBy: 'buffer' | undefined
	/** True if the caller has received a message of a response stream. */
	hasDelivered = false
	/** Why the call ends without any attempt, if that is known before it begins. */
	rejection: Rejection | undefined
	/** Set when the caller or the parent call has cancelled the call. */
	cancellation: GrpcStatusError | undefined

	/**
	 * `deadlineMs` is the time from `givenAt` that the caller has given to this call; Infinity without a
	 * deadline. The process may stand still after `givenAt`. That does not delay the timer of the library that
	 * sends the call.
	 */
	constructor(
		target: GrpcMethod,
		deadlineMs: number,
		parent: CallOptions | undefined,
		runtime: Runtime,
		givenAt: number = runtime.now(),
	) {
		this.target = target
		this.parent = parent
		const ownMs = Math.min(deadlineMs, target.config?.timeoutMs ?? Infinity)
		const outer = parent?.deadline
		const outerMs = outer ? outer.remainingMs : Infinity
		this.isDeadlineInherited = outerMs < ownMs
		this.givenMs = this.isDeadlineInherited ? outerMs : ownMs
		this.deadline = this.isDeadlineInherited
			? outer
			: ownMs < Infinity
				? Deadline.after(Math.max(0, ownMs - (runtime.now() - givenAt)), { runtime })
				: undefined
	}

	/** The call's name in events and in `explain`. */
	get name(): string {
		return this.target.path
	}

	/** How the last attempt ended, or the status that a rejected call ends with; undefined before. */
	get statusName(): StatusName | undefined {
		const { ok = false, value, isOver = false } = this.call ?? {}
		if (ok) return isOver ? 'OK' : undefined
		if (value instanceof GrpcStatusError) return value.statusName
		return value === undefined ? undefined : statusNameOf(statusOf(value).code)
	}

	get extension(): this {
		return this
	}

	get method(): string {
		return this.target.method
	}

	get eventFields(): GrpcEventFields {
		const { target, statusName, committedBy } = this
		return {
			grpcService: target.service,
			...(statusName === undefined ? {} : { grpcStatus: statusName }),
			...(committedBy === undefined ? {} : { grpcCommittedBy: committedBy }),
		}
	}
}

/** Returns the Rpc of a call. */
export const rpcOf = (call: Call): Rpc => call.options as Rpc

/** What the user's function has thrown. */
export class ThrownByHook {
	readonly error: unknown

	constructor(error: unknown) {
		this.error = error
	}
}

/** Returns the parent call, or what the user's function has thrown. */
export function readContext(
	getContext: () => CallOptions | undefined,
): CallOptions | ThrownByHook | undefined {
	try {
		return getContext()
	} catch (error) {
		return new ThrownByHook(error)
	}
}
