import type { Deadline } from '../deadline/deadline.ts'

/** What belongs to one call, the same for every policy. */
export interface CallOptions {
	/** The caller's own abort. It ends a wait at once and reaches the work through its context. */
	readonly signal?: AbortSignal | undefined
	/** By when an answer is worth having. */
	readonly deadline?: Deadline | undefined
	/** What the call is called in events and in `explain`. */
	readonly name?: string | undefined
	/** Which of several the call is about, such as a host or a tenant. Told in events. */
	readonly key?: string | undefined
	/** May the work be done twice? Told to the policies that might. */
	readonly idempotent?: boolean | undefined
	/** The context of the work that makes this call: what is not said here is taken from it, but for its name. */
	readonly parent?: CallOptions | undefined
}

/**
 * What the work is told about the attempt that it is. It may be handed on as call options, as it is:
 * `inner.execute(fn, ctx)`; retries then know of each other and do not multiply. A copy by `{ ...ctx }` loses what is read when
 * asked for; to add to it, say what it is part of: `{ parent: ctx, name: 'inner' }`.
 *
 * @example
 * await policy.execute(({ signal, attempt }) => fetch(url, { signal, headers: { 'x-attempt': String(attempt) } }))
 */
export interface CallContext {
	/** Aborted when the caller aborts, or a timeout or the deadline passes; never after the call has been answered. */
	readonly signal: AbortSignal
	/** From 0. */
	readonly attempt: number
	/** What is left of the caller's patience, if it said so. */
	readonly deadline: Deadline | undefined
	/** The call's `key`, if it was given one. */
	readonly key: string | undefined
	/** The call's `idempotent`, if it was told. */
	readonly idempotent: boolean | undefined
}

/** What holds for a call inside the work of another: either may abort it, and the earlier deadline counts. */
export function inheritCallOptions(own: CallOptions, within: CallOptions): CallOptions {
	const { signal, deadline } = own
	const around = within.parent ? inheritCallOptions(within, within.parent) : within
	const outer = around.deadline
	return {
		...own,
		signal: signal && around.signal ? AbortSignal.any([signal, around.signal]) : (signal ?? around.signal),
		deadline: deadline && outer && outer.remainingMs < deadline.remainingMs ? outer : (deadline ?? outer),
		key: own.key ?? around.key,
		idempotent: own.idempotent ?? around.idempotent,
	}
}
