/**
 * Time that passes from one event to the next, and not at all in between. The part of a virtual runtime that has no
 * promises in it: tests put those on top, the simulator drives it as it is.
 */
import { checkRange } from '../core/options/schema.ts'
import { EventHeap, type ScheduledEvent } from './event-heap.ts'

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

	/** Counts, so that every run has the same ids. */
	createId(): string {
		return `call-${++this.#ids}`
	}

	jumpWallClock(ms: number): void {
		this.#wallOffset += ms
	}

	setTimer(ms: number, fn: () => void): () => void {
		checkRange('setTimer(ms)', ms)
		const event = this.after(ms, fn)
		return () => {
			event.fire = undefined
		}
	}

	/** The same for those who know what they do: no check, and nothing made to cancel it with. */
	after(ms: number, fn: () => void): ScheduledEvent {
		return this.#events.add(this.#now + ms, fn)
	}

	/** How many events are still to come. */
	get pending(): number {
		return this.#events.size
	}

	/** Is any? Cheap, for who asks often. */
	get hasPending(): boolean {
		return this.#events.hasNext
	}

	/** Goes to the next event, unless it comes after `until`, and lets it happen. Answers whether there was one. */
	step(until: number): boolean {
		const event = this.#events.take(until)
		if (event === undefined) return false
		this.#now = event.at
		event.fire?.()
		return true
	}

	/** Lets time pass in which nothing happens. */
	skipTo(time: number): void {
		this.#now = Math.max(this.#now, time)
	}
}
