import { Call } from '../../core/engine/call.ts'
import type { CallContext } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'
import type { DoneCallback } from '../../testing/callback-runner.ts'
import type { Failure } from './failures.ts'

/** Whoever takes requests. */
export interface Receiver {
	/** Does it hand a request's context on to others? */
	readonly passesContext: boolean
	send(request: Request): void
}

/**
 * The end of a request, and before it that of whoever waits for it. Modelled callers hand their signal on, as all should: when it
 * aborts they have their answer at once, whatever the service does.
 */
export function heeding(signal: AbortSignal, done: DoneCallback<unknown>): DoneCallback<unknown> {
	let isOpen = true
	const end: DoneCallback<unknown> = (error) => {
		if (!isOpen) return
		isOpen = false
		signal.removeEventListener('abort', aborted)
		done(error)
	}
	const aborted = () => end(signal.reason)
	signal.addEventListener('abort', aborted)
	return end
}

const NOBODY: DoneCallback<unknown> = () => {}
/** In the place of a turn: its call is over. */
const FORGOTTEN = -1

/**
 * One request on its way. Whether anybody still waits for it is read off the policy's own call, as the client's process
 * would know it; nobody has to listen to an abort signal for that, which would cost more than the request.
 */
export class Request {
	/** Of the attempt that it is; undefined when the client has no policy. */
	context: CallContext | undefined
	arrivedAt = 0
	startedAt = 0
	/** Its service went down while it was there. */
	isLost = false
	/** The request before it, of the same call. */
	#before: Request | undefined
	#done: DoneCallback<unknown>
	#call: Call | undefined
	#turn: number

	constructor(done: DoneCallback<unknown>, context?: CallContext, before?: Request) {
		this.context = context
		this.#before = before
		this.#done = done
		const call = context instanceof Context ? Context.callOf(context) : undefined
		this.#call = call instanceof Call ? call : undefined
		this.#turn = this.#call?.run ?? 0
	}

	/**
	 * The call is over. What is left of it here, and of the requests before it, must not keep alive all that the call was: an
	 * overloaded service has thousands of them in its queue, and moving those about was a third of the time of a run.
	 */
	static forget(latest: Request | undefined): void {
		for (let request = latest; request; ) {
			const before: Request | undefined = request.#before
			request.#before = undefined
			if (!request.#isFollowed) {
				request.#done = NOBODY
				request.context = undefined
				request.#call = undefined
				request.#turn = FORGOTTEN
			}
			request = before
		}
	}

	/** Does a layer want to know when it ends, however late, as one does that has lent it a slot? */
	get #isFollowed(): boolean {
		return this.#call?.rare?.orphans?.some(({ onEnd }) => onEnd.length > 1) === true
	}

	get isAwaited(): boolean {
		return this.#call === undefined ? this.#turn !== FORGOTTEN : this.#call.run === this.#turn
	}

	answer(failure: Failure | undefined): void {
		if (failure) this.#done(failure)
		else this.#done()
	}
}
