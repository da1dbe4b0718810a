import type { Call } from '../../core/engine/call.ts'
import type { CallContext } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'

/**
 * What a request says about the call that it is part of. It is handed on as call options, as it is or as `within`: policies inside
 * then keep the caller's deadline, and leave retrying to the layer that should do it.
 */
export interface ServerContext extends CallContext {
	/** Is nothing left of the caller's deadline? Then nobody waits for an answer. */
	readonly isExpired: boolean
	/** Has a retry inside this request given up? Then a failing answer should say so, and the wrappers here make it. */
	readonly retriesExhausted: boolean
	/**
	 * The request has been answered: its signal is aborted no more, and no timer is kept for it. The wrappers call it; who makes a
	 * context alone may, and otherwise its timer lasts as long as the deadline.
	 */
	end(): void
}

/** A context of core, so that core finds the call behind it. */
export class RequestContext extends Context implements ServerContext {
	readonly #call: Call

	constructor(call: Call, attempt: number) {
		super(call, call, attempt)
		this.#call = call
	}

	get isExpired(): boolean {
		return this.deadline?.isExpired === true
	}

	get retriesExhausted(): boolean {
		return this.#call.rare?.innerFailure !== undefined
	}

	end(): void {
		this.#call.settle(true, undefined)
	}
}
