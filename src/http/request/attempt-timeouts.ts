import type { Runtime } from '../../core/runtime/runtime.ts'
import { type TimeoutEntry, TimeoutList } from '../../core/runtime/timeout-list.ts'

/**
 * The timeouts of attempts of one duration. The process stays alive while a call waits for the head of a response, but not for an unread
 * body: a script that only checks a status would otherwise exit when the timeout expires.
 */
export class AttemptTimeouts extends TimeoutList {
	/** Attempts that wait for the head of their response. */
	#heads = 0

	start(entry: TimeoutEntry, now: number): void {
		if (!this.#heads++) this.timer?.keepAlive?.(true)
		this.add(entry, now)
	}

	/** The head has arrived, or the attempt has failed. */
	onHead(): void {
		if (!--this.#heads) this.timer?.keepAlive?.(false)
	}

	override arm(ms: number): void {
		super.arm(ms)
		if (!this.#heads) this.timer?.keepAlive?.(false)
	}
}

/** Requests may have their own timeouts. Beyond this many durations the lists are dropped; their entries still expire. */
const MAX_LISTS = 100

/** One list per duration. Shared by all origins, because a list may outlive an evicted origin. */
export class TimeoutLists {
	#latest: AttemptTimeouts | undefined
	readonly #lists = new Map<number, AttemptTimeouts>()

	/** Returns the list of a duration. A change of the timer source (fake timers in tests) creates a new one. */
	get(ms: number, runtime: Runtime): AttemptTimeouts {
		const source = runtime.timerSource?.() ?? runtime
		const latest = this.#latest
		if (latest?.ms === ms && latest.source === source) return latest
		let list = this.#lists.get(ms)
		if (list?.source !== source) {
			list = new AttemptTimeouts(ms, runtime, source)
			if (this.#lists.size >= MAX_LISTS) this.#lists.clear()
			this.#lists.set(ms, list)
		}
		this.#latest = list
		return list
	}
}
