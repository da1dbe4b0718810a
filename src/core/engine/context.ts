import type { Deadline } from '../deadline/deadline.ts'
import type { CallContext, CallOptions } from './call-options.ts'
import { type Scope, scopeSignal } from './scope.ts'

/** The part of a call that a context reads. */
interface Asked {
	readonly options: CallOptions | undefined
}

/**
 * One per attempt, so that an operation that outlives its attempt still reads its own number. The signal is
 * created on first read.
 */
export class Context implements CallContext {
	readonly #call: Asked
	readonly #scope: Scope
	readonly attempt: number

	constructor(call: Asked, scope: Scope, attempt: number) {
		this.#call = call
		this.#scope = scope
		this.attempt = attempt
	}

	get signal(): AbortSignal {
		return scopeSignal(this.#scope)
	}

	get deadline(): Deadline | undefined {
		return this.#call.options?.deadline
	}

	get key(): string | undefined {
		return this.#call.options?.key
	}

	get idempotent(): boolean | undefined {
		return this.#call.options?.idempotent
	}

	/** Returns the context that these options are or refer to; undefined for plain options. */
	static of(options: CallOptions | undefined): Context | undefined {
		for (let given = options; given; given = given.parent) if (given instanceof Context) return given
		return undefined
	}

	/** Returns the call whose operation received the context that these options are or refer to. */
	static callOf(options: CallOptions | undefined): object | undefined {
		const context = Context.of(options)
		return context ? context.#call : undefined
	}
}
