import type { Deadline } from '../deadline/deadline.ts'
import type { CallOptions } from './call-options.ts'

/**
 * What the work is told about the attempt that it is. It may be handed on as call options, as it is:
 * `inner.execute(fn, ctx)`. A copy by `{ ...ctx }` loses the signal and the deadline, which are read when asked for; to add
 * to them, name them: `{ signal: ctx.signal, deadline: ctx.deadline, name: 'inner' }`.
 *
 * @example
 * await policy.execute(({ signal, attempt }) => fetch(url, { signal, headers: { 'x-attempt': String(attempt) } }))
 */
export interface CallContext {
	/** Aborted when the caller aborts or the deadline passes; never after the call has been answered. */
	readonly signal: AbortSignal
	/** From 0. */
	readonly attempt: number
	/** What is left of the caller's patience, if it said so. */
	readonly deadline: Deadline | undefined
}

/** What a context asks of its call. */
interface Scope {
	readonly options: CallOptions | undefined
	signal(): AbortSignal
}

/** One per attempt, so that work which outlives its attempt still reads its own number. The signal is made when read. */
export class Context implements CallContext {
	readonly #scope: Scope
	readonly attempt: number

	constructor(scope: Scope, attempt: number) {
		this.#scope = scope
		this.attempt = attempt
	}

	get signal(): AbortSignal {
		return this.#scope.signal()
	}

	get deadline(): Deadline | undefined {
		return this.#scope.options?.deadline
	}
}
