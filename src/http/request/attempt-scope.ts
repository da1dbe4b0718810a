/**
 * One attempt, from the request until its body has been read. In core, an attempt is over when its work answers; a response is
 * an answer whose second half is still to come, and its timeout must not end with the first. So this is what is inside a timeout (a scope), what
 * the timeout ends (a limit), what is told of the body (a follower) and what `explain` finds by the response (a record): one
 * object for each attempt instead of four.
 */
import type { BoundLayer, Call } from '../../core/engine/call.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import { interrupt } from '../../core/engine/interrupt.ts'
import { type Scope, type SignalLink, scopeSignal } from '../../core/engine/scope.ts'
import { type AttemptEntry, type CallRecord, findRecord } from '../../core/explain/record.ts'
import type { CancelTimer } from '../../core/runtime/runtime.ts'
import type { TimeoutEntry, TimeoutList } from '../../core/runtime/timeout-list.ts'
import { type BodyObserver, type HttpResponse, isObservable } from '../transport/transport.ts'
import type { AttemptTimeouts } from './attempt-timeouts.ts'

/** A call that never failed: no clock was read for it, so there are no times to tell. */
const SUCCESS: AttemptEntry = {
	previous: undefined,
	attempt: 0,
	startedAt: undefined,
	endedAt: 0,
	outcome: 'success',
	error: undefined,
	delayMs: undefined,
	delaySource: undefined,
	queuedMs: undefined,
}

/** Makes the error of an attempt whose time is over; `isWhole` when it was the time of the whole call. */
export type TimedOut = (call: Call, bound: BoundLayer, isWhole: boolean) => unknown

export class AttemptScope implements Scope, TimeoutEntry, BodyObserver, CallRecord {
	before: TimeoutEntry | undefined
	after: TimeoutEntry | undefined
	list: TimeoutList | undefined
	startedAt: number | undefined
	link: SignalLink | undefined
	/** The scope around it; undefined when the head of the response is there, or nothing will come. */
	within: Scope | undefined
	/** Let go when a call without a failure has ended: a response may live long, and collectors of young objects take it to. */
	call: Call | undefined
	readonly pipeline: CallRecord['pipeline']
	readonly bound: BoundLayer
	/** The list that it waits in for its head. */
	limits: AttemptTimeouts | undefined
	/** The timer of an attempt that has less time than others. */
	timer: CancelTimer | undefined
	/** Makes the error that the limit ends it with. */
	readonly timedOut: TimedOut
	/** The response, until its body has been read. */
	response: HttpResponse | undefined
	/** Is it being read by `text()` and the like? A stream that somebody reads otherwise is theirs. */
	#isRead = false
	/** What it was ended with in the middle of the body. */
	#failure: { readonly error: unknown } | undefined

	constructor(call: Call, bound: BoundLayer, timedOut: TimedOut) {
		this.call = call
		this.pipeline = call.pipeline
		this.bound = bound
		this.within = call.scope
		this.timedOut = timedOut
	}

	get abortsItself(): boolean {
		return true
	}

	/** The caller's own signal is given to the transport beside this one: it holds for the body, too. */
	abortedBy(): CallOptions | undefined {
		const { within } = this
		return within?.abortsItself ? { signal: scopeSignal(within) } : undefined
	}

	expire(): void {
		const { call, bound, within, link } = this
		if (!call) return
		// Who gave up first is already being told so: the body may only not have ended yet.
		const isOver = call.options?.signal?.aborted || (!this.#isRead && this.response && isTaken(this.response))
		if (!within && isOver) {
			this.release()
			return
		}
		const error = this.timedOut(call, bound, this.timer !== undefined)
		if (within) interrupt(call, bound, this, error, 'timeout')
		else {
			this.#failure = { error }
			this.release()
			link?.abort?.(error)
		}
	}

	/** The head is there, or will not come. */
	headEnded(): void {
		this.within = undefined
		this.limits?.headEnded()
		this.limits = undefined
		this.timer?.keepAlive?.(false)
		// What is further out is no longer its affair: of a hedge, the loser is aborted and not this one.
		this.link?.unlink?.()
	}

	/** Nothing more is waited for: neither timer nor listener stays. */
	release(): void {
		this.list?.remove(this)
		this.timer?.()
		this.timer = undefined
		this.link = undefined
		this.response = undefined
		const { call } = this
		if (call && !call.lastAttempt && call.options?.name === undefined) this.call = undefined
	}

	began(): void {
		this.#isRead = true
	}

	ended(error?: unknown): unknown {
		this.release()
		return this.#failure ? this.#failure.error : error
	}

	handedOver(): void {
		this.release()
	}

	get options(): CallOptions | undefined {
		return this.call?.options
	}

	get rare(): CallRecord['rare'] {
		return this.call?.rare
	}

	get lastAttempt(): AttemptEntry {
		return this.call?.lastAttempt ?? SUCCESS
	}

	get stop(): CallRecord['stop'] {
		return this.call?.stop
	}

	get value(): unknown {
		return this.call?.value
	}
}

/** Does somebody read the stream itself, or has somebody? */
const isTaken = (response: HttpResponse): boolean =>
	isObservable(response) ? response.isTaken === true : response.bodyUsed || response.body?.locked === true

/** The toolkit itself is about to read a body, and has its own time for that. */
export function releaseBody(response: object): void {
	const record = findRecord(response)
	if (record instanceof AttemptScope) record.handedOver()
}
