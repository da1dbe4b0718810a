/**
 * Which call gets which start. A pacer reserves starts at fixed times; the calls that wait for them form a
 * queue, and the first call has the first start, the second the second. When a call leaves, all calls behind
 * it move up by one start, and the last start is free. So nothing waits for a call that has left, however
 * many leave and in whatever order.
 *
 * Only the latest reservation of a pacer can be undone, because later ones depend on the others. A start in
 * the middle, before one that was reserved without waiting in the queue, stays taken in the pacer and goes to
 * the next call.
 *
 * (Rejected: a timer per call that is set again when the call moves up. An abort of one of 10,000 calls would
 * set up to 10,000 timers.)
 */
import { type Link, LinkedList } from '../structures/linked-list.ts'
import type { Pacer } from './pacer.ts'

export class StartQueue<W extends Link<W>> {
	readonly pacer: Pacer
	readonly #waiting = new LinkedList<W>()
	/** The starts of the waiting calls, in order. */
	readonly #starts: number[] = []
	/** Cancelled starts that the pacer cannot undo, in order. All are later than the starts of waiting calls. */
	readonly #free: number[] = []

	constructor(pacer: Pacer) {
		this.pacer = pacer
	}

	/** When the first waiting call may start; undefined if none waits. */
	get firstStart(): number | undefined {
		return this.#starts[0]
	}

	next(now: number): number {
		return this.#firstFree(now) ?? this.pacer.next(now)
	}

	available(now: number): number {
		return this.pacer.available(now) + this.#free.filter((start) => start === now).length
	}

	reserve(now: number): number {
		if (this.#firstFree(now) === undefined) return this.pacer.reserve(now)
		return this.#free.shift() ?? now
	}

	/** Cancels a start that `reserve` returned and that was not used. */
	cancel(start: number, now: number): void {
		const starts = this.#starts
		const place = starts.findIndex((later) => later > start)
		if (place < 0 || start < now) this.#release(start, now)
		else {
			starts.splice(place, 0, start)
			this.#releaseLast(now)
		}
	}

	/** Reserves the next start for a call that waits for it. */
	wait(waiter: W, now: number): void {
		this.#starts.push(this.reserve(now))
		this.#waiting.insert(waiter, this.#waiting.last)
	}

	/** A waiting call leaves, and those behind it move up. */
	leave(waiter: W, now: number): void {
		this.#waiting.remove(waiter)
		this.#releaseLast(now)
	}

	/** Removes and returns the first waiting call, if its start has come. */
	takeDue(now: number): W | undefined {
		const [start = Infinity] = this.#starts
		const { first } = this.#waiting
		if (!first || start > now) return undefined
		this.#starts.shift()
		this.#waiting.remove(first)
		return first
	}

	#releaseLast(now: number): void {
		const start = this.#starts.pop()
		if (start !== undefined) this.#release(start, now)
	}

	#release(start: number, now: number): void {
		const { pacer } = this
		const free = this.#free
		if (pacer.cancel(start, now)) {
			// Now an earlier start may be the latest.
			while (free.length && pacer.cancel(free.at(-1) ?? now, now)) free.pop()
		} else if (start >= now) {
			const place = free.findIndex((later) => later > start)
			free.splice(place < 0 ? free.length : place, 0, start)
		}
	}

	/** A start that has passed unused cannot be used later: the distance to the next one would be too short. */
	#firstFree(now: number): number | undefined {
		const free = this.#free
		while ((free[0] ?? now) < now) free.shift()
		return free[0]
	}
}
