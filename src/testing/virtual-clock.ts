/**
 * A clock that moves from one scheduled event to the next. This is the part of a virtual runtime without
 * promises: tests add promises on top, the simulator uses it directly.
 */
import { checkAmount } from '../core/options/schema.ts'
import { EventHeap, type ScheduledEvent } from './event-heap.ts'
import { beginTurn, endTurn } from './turns.ts'

export class VirtualClock {
	readonly #events = new EventHeap()
	#now = 0
	#wallOffset: number
	#ids = 0

	constructor(startAt: number) {
		this.#wallOffset = startAt
	}

	now(): number {
		return this.#now
	}

	wallNow(): number {
		return this.#wallOffset + this.#now
	}

	/** Returns a counter, so that every run has the same ids. */
	createId(): string {
		return `call-${++this.#ids}`
	}

	jumpWallClock(ms: number): void {
		this.#wallOffset += ms
	}

	setTimer(ms: number, fn: () => void): () => void {
		checkAmount('ms', ms)
		const event = this.after(ms, fn)
		return () => {
			event.fire = undefined
		}
	}

	/** Like `setTimer`, without validation and without allocating a cancel function. */
	after(ms: number, fn: () => void): ScheduledEvent {
		return this.#events.add(this.#now + ms, fn)
	}

	/** The number of scheduled events. */
	get pendingTimers(): number {
		return this.#events.size
	}

	/** True if an event is scheduled. Cheaper than `pendingTimers`. */
	get hasPending(): boolean {
		return this.#events.hasNext
	}

	/** Advances to the next event and runs it, unless it is after `until`. Returns true if there was one. */
	step(until: number): boolean {
		const event = this.#events.take(until)
		if (event === undefined) return false
		this.#now = event.at
		const isFirst = beginTurn()
		try {
			event.fire?.()
		} finally {
			if (isFirst) endTurn()
		}
		return true
	}

	/** Advances the clock without running events. */
	skipTo(time: number): void {
		this.#now = Math.max(this.#now, time)
	}
}
