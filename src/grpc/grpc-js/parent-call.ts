/** What a call inherits from the async context, and from its `parent` in grpc-js. */
import { Deadline } from '../../core/deadline/deadline.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { parentFailure } from '../policy/call-failures.ts'
import type { GrpcStatusError } from '../status/status-error.ts'
import type { GrpcCallOptions, GrpcParentCall } from './grpc-types.ts'

/** Bits of `propagate_flags` in grpc-js. */
const DEADLINE = 1
const CANCELLATION = 8
const DEFAULT_FLAGS = 0xffff

/** Returns the parent call, if it propagates this. */
function parentOf({ parent, propagate_flags }: GrpcCallOptions, flag: number): GrpcParentCall | undefined {
	const isPropagated = ((propagate_flags ?? DEFAULT_FLAGS) & flag) !== 0
	return isPropagated && parent ? (parent as GrpcParentCall) : undefined
}

/** Returns the remaining milliseconds of a deadline of grpc-js; Infinity for none. */
export function remainingMs(deadline: GrpcCallOptions['deadline'], runtime: Runtime): number {
	const ms = deadline == null ? Infinity : Number(deadline) - runtime.wallNow()
	// grpc-js itself reports a deadline that is not a number.
	return Number.isNaN(ms) ? Infinity : ms
}

/**
 * Returns the options of an attempt. They have no parent: grpc-js would add a listener to it for every
 * attempt, and remove none of them.
 */
export function attemptOptions(
	options: GrpcCallOptions,
	remaining: number,
	runtime: Runtime,
): GrpcCallOptions {
	const deadline = runtime.wallNow() + Math.ceil(remaining)
	return { ...options, parent: undefined, deadline: deadline < Infinity ? deadline : options.deadline }
}

/** Returns what the call inherits. `context` is its parent call in the async context. */
export function inheritedContext(
	options: GrpcCallOptions,
	context: CallOptions | undefined,
	runtime: Runtime,
): CallOptions | undefined {
	const ms = remainingMs(parentOf(options, DEADLINE)?.getDeadline(), runtime)
	if (ms === Infinity || (context?.deadline && context.deadline.remainingMs <= ms)) return context
	return { deadline: Deadline.after(Math.max(0, ms), { runtime }), signal: context?.signal, parent: context }
}

/** Calls `cancel` when the parent call ends. Returns a function that undoes this, if there is a parent. */
export function linkParent(
	options: GrpcCallOptions,
	context: CallOptions | undefined,
	cancel: (error: GrpcStatusError) => void,
): (() => void) | undefined {
	const parent = parentOf(options, CANCELLATION)
	const signal = context?.signal
	if (!parent && !signal) return undefined
	const onAbort = () => cancel(parentFailure(signal?.reason))
	if (signal?.aborted || parent?.cancelled) {
		onAbort()
		return undefined
	}
	parent?.on('cancelled', onAbort)
	signal?.addEventListener('abort', onAbort)
	return () => {
		parent?.removeListener('cancelled', onAbort)
		signal?.removeEventListener('abort', onAbort)
	}
}
