import type { Runtime } from '../../core/runtime/runtime.ts'
import { type TimeoutEntry, TimeoutList } from '../../core/runtime/timeout-list.ts'

/**
 * The limits of attempts of one length. A process stays for an answer that somebody waits for; for a body that nobody has read
 * it need not: a script that only looks at a status would otherwise end when the timeout does.
 */
export class AttemptTimeouts extends TimeoutList {
	/** How many wait for the head of their response. */
	#heads = 0

	begin(limit: TimeoutEntry, now: number): void {
		if (!this.#heads++) this.timer?.keepAlive?.(true)
		this.add(limit, now)
	}

	/** The head is there, or will not come. */
	headEnded(): void {
		if (!--this.#heads) this.timer?.keepAlive?.(false)
	}

	override arm(ms: number): void {
		super.arm(ms)
		if (!this.#heads) this.timer?.keepAlive?.(false)
	}
}

/** The lists of an engine: one for each length and, as fake timers come and go, for each make of timers. */
export class TimeoutLists {
	#latest: AttemptTimeouts | undefined
	readonly #lists = new Map<number, AttemptTimeouts>()

	of(ms: number, runtime: Runtime): AttemptTimeouts {
		const source = runtime.timerSource?.() ?? runtime
		const latest = this.#latest
		if (latest?.ms === ms && latest.source === source) return latest
		let list = this.#lists.get(ms)
		if (list?.source !== source) {
			list = new AttemptTimeouts(ms, runtime, source)
			if (this.#lists.size >= MOST_LENGTHS) this.#lists.clear()
			this.#lists.set(ms, list)
		}
		this.#latest = list
		return list
	}
}

/** A request may have a length of its own. Past this many, lists are forgotten; what is in them still ends in its time. */
const MOST_LENGTHS = 100
