/** What aborts an attempt before its body has been read: its timeout, and the caller's signal. */
import type { BoundLayer, Call } from '../../core/engine/call.ts'
import type { SignalLink } from '../../core/engine/scope.ts'
import type { CancelTimer, Runtime } from '../../core/runtime/runtime.ts'
import { createRegistry } from '../../core/runtime/system.ts'
import { type TimeoutEntry, TimeoutList } from '../../core/runtime/timeout-list.ts'

interface Expiring {
	readonly call: Call
	readonly bound: BoundLayer
	/** The timeout has expired; `isTotal` if the time of the whole call is over. */
	expire(isTotal: boolean): void
}

/** The timeout of one attempt, from its start until its body has been read. */
export class AttemptTimeout implements TimeoutEntry {
	before: TimeoutEntry | undefined
	after: TimeoutEntry | undefined
	list: TimeoutList | undefined
	startedAt: number | undefined
	/** The list until the head arrives. */
	#heads: SharedTimeouts | undefined
	/** A separate timer if less time is left for the call than the timeout of an attempt. */
	#timer: CancelTimer | undefined
	readonly #attempt: Expiring

	/** Starts the timeout of an attempt, or of its call if less time is left for it. */
	constructor(attempt: Expiring, timeoutMs: number, lists: TimeoutLists) {
		const { call } = attempt
		const { runtime } = attempt.bound
		const leftMs = call.options?.deadline?.remainingMs ?? Infinity
		this.#attempt = attempt
		if (leftMs < timeoutMs) this.#timer = runtime.setTimer(leftMs, () => this.expire(), 'limit')
		else if (timeoutMs < Infinity) {
			this.#heads = lists.get(timeoutMs, runtime)
			this.#heads.start(this, call.now(runtime))
		}
	}

	get isRunning(): boolean {
		return this.list !== undefined || this.#timer !== undefined
	}

	expire(): void {
		this.#attempt.expire(this.#timer !== undefined)
	}

	/** The head has arrived, or the attempt has failed. */
	onHead(): void {
		this.#heads?.onHead()
		this.#heads = undefined
		this.#timer?.keepAlive?.(false)
	}

	stop(): void {
		this.list?.remove(this)
		this.#timer?.()
		this.#timer = undefined
	}
}

/**
 * The timeouts of attempts of one duration. The process stays alive while a call waits for the head of a
 * response, but not for an unread body: a script that only checks a status would otherwise exit when the
 * timeout expires.
 */
class SharedTimeouts extends TimeoutList {
	/** Attempts that wait for the head of their response. */
	#heads = 0

	start(entry: TimeoutEntry, now: number): void {
		if (!this.#heads++) this.timer?.keepAlive?.(true)
		this.add(entry, now)
	}

	onHead(): void {
		if (!--this.#heads) this.timer?.keepAlive?.(false)
	}

	override arm(ms: number): void {
		super.arm(ms)
		if (!this.#heads) this.timer?.keepAlive?.(false)
	}
}

/** Requests may have their own timeouts. Beyond this many durations the lists are no longer kept. */
const MAX_LISTS = 100

/** One list per duration. Shared by all origins, because a list may outlive an evicted origin. */
export class TimeoutLists {
	readonly #lists = new Map<number, SharedTimeouts>()

	/** Returns the list of a duration. A change of the timer source (fake timers in tests) creates a new one. */
	get(ms: number, runtime: Runtime): SharedTimeouts {
		const source = runtime.timerSource?.() ?? runtime
		let list = this.#lists.get(ms)
		if (list?.source !== source) {
			list = new SharedTimeouts(ms, runtime, source)
			if (this.#lists.size >= MAX_LISTS) this.#lists.clear()
			this.#lists.set(ms, list)
		}
		return list
	}
}

/**
 * Aborts an attempt when the caller aborts, until the body of its response has been read. `AbortSignal.any`
 * needs no end, but a listener on its signal, which some `fetch` implementations leave there, keeps that
 * signal alive for as long as the caller's.
 */
export class CallerLink {
	readonly #signal: AbortSignal
	readonly #link: SignalLink

	constructor(signal: AbortSignal, link: SignalLink) {
		this.#signal = signal
		this.#link = link
		if (signal.aborted) this.handleEvent()
		else signal.addEventListener('abort', this)
	}

	/** Called when the caller's signal is aborted. */
	handleEvent(): void {
		this.#link.abort?.(this.#signal.reason)
	}

	unlink(): void {
		this.#signal.removeEventListener('abort', this)
	}

	/** Unlinks when a stream that the caller reads, and whose end is not visible here, is no longer used. */
	unlinkAfter(stream: object): void {
		streams ??= createRegistry((link) => link.unlink())
		streams?.register(stream, this)
	}
}

let streams: FinalizationRegistry<CallerLink> | undefined
