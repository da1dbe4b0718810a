/**
 * Never more than `limit` starts in any stretch of `intervalMs`, exactly: the latest starts are remembered, and the next one
 * waits until the oldest of `limit` is an interval old. Counting by fixed stretches, or weighing two of them, needs only two
 * numbers, but lets up to twice the limit through around their border, and a server that counts exactly would answer 429.
 */
import { CancelledReservations, type Pacer, TICKS, tickAfter } from './pacer.ts'

/** So many past starts are worth moving the others for. */
const LEAST_CUT = 64

export class SlidingWindow implements Pacer {
	#limit: number
	#intervalTicks: number
	/** Starts in ticks, oldest first. Those that wait are in it too, so it is as long as the load asks for. */
	readonly #starts: number[] = []
	/** How many of them are an interval old. */
	#past = 0
	#givenBack: CancelledReservations | undefined

	/** Whole numbers above 0. */
	constructor(limit: number, intervalMs: number) {
		this.#limit = limit
		this.#intervalTicks = intervalMs * TICKS
	}

	next(now: number): number {
		const starts = this.#starts
		const full = starts[starts.length - this.#limit]
		const free = full === undefined ? -Infinity : full + this.#intervalTicks
		const tick = Math.max(free, starts.at(-1) ?? free)
		// Of a start at this very moment, the tick may already be the next one.
		return tick > tickAfter(now) || free > now * TICKS ? tick / TICKS : now
	}

	reserve(now: number): number {
		const start = this.next(now)
		this.#count(now)
		// Each start is moved less than once in the mean, as no fewer are cut than stay.
		if (this.#past > LEAST_CUT && this.#past * 2 > this.#starts.length) {
			this.#starts.splice(0, this.#past)
			this.#past = 0
		}
		this.#starts.push(tickAfter(start))
		return start
	}

	cancel(at: number, now: number): void {
		const starts = this.#starts
		this.#givenBack ??= new CancelledReservations()
		this.#givenBack.add(
			tickAfter(at),
			tickAfter(now),
			() => starts.at(-1) ?? Number.NaN,
			() => starts.pop(),
		)
		this.#past = Math.min(this.#past, starts.length)
	}

	available(now: number): number {
		return this.next(now) > now ? 0 : this.#limit - this.#count(now)
	}

	update(limit: number, intervalMs: number): void {
		this.#limit = limit
		this.#intervalTicks = intervalMs * TICKS
		// Under a longer interval some of them count again.
		this.#past = 0
	}

	/** How many starts are less than an interval old. */
	#count(now: number): number {
		const starts = this.#starts
		for (const border = now * TICKS - this.#intervalTicks; (starts[this.#past] ?? Infinity) <= border; )
			this.#past++
		return starts.length - this.#past
	}
}
