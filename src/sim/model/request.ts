import { Call } from '../../core/engine/call.ts'
import type { CallContext } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'
import type { Done } from '../../testing/run.ts'
import type { Failure } from './failures.ts'

/** Whoever takes requests. */
export interface Receiver {
	send(request: Request): void
}

/**
 * The end of a request, and before it that of whoever waits for it. Modelled callers hand their signal on, as all should: when it
 * aborts they have their answer at once, whatever the service does.
 */
export function heeding(signal: AbortSignal, done: Done<unknown>): Done<unknown> {
	let isOpen = true
	const end: Done<unknown> = (error) => {
		if (!isOpen) return
		isOpen = false
		signal.removeEventListener('abort', aborted)
		done(error)
	}
	const aborted = () => end(signal.reason)
	signal.addEventListener('abort', aborted)
	return end
}

/**
 * One request on its way. Whether anybody still waits for it is read off the policy's own call, as the client's process
 * would know it; nobody has to listen to an abort signal for that, which would cost more than the request.
 */
export class Request {
	/** Of the attempt that it is; undefined when the client has no policy. */
	readonly context: CallContext | undefined
	arrivedAt = 0
	startedAt = 0
	/** Its service went down while it was there. */
	isLost = false
	readonly #done: Done<unknown>
	readonly #call: Call | undefined
	readonly #turn: number

	constructor(done: Done<unknown>, context?: CallContext) {
		this.context = context
		this.#done = done
		const call = context instanceof Context ? Context.callOf(context) : undefined
		this.#call = call instanceof Call ? call : undefined
		this.#turn = this.#call?.turn ?? 0
	}

	get isAwaited(): boolean {
		return this.#call === undefined || this.#call.turn === this.#turn
	}

	answer(failure: Failure | undefined): void {
		if (failure) this.#done(failure)
		else this.#done()
	}
}
