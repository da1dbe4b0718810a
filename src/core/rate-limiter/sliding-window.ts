/**
 * Never more than `limit` starts in any interval of `intervalMs`, exactly: the latest starts are stored, and
 * the next one waits until the oldest of `limit` starts is one interval old. Fixed windows, or the weighted
 * mean of two, need only two numbers, but allow up to twice the limit around a window's border, and a server
 * that counts exactly would return 429.
 */
import { type Pacer, TICKS, tickAfter } from './pacer.ts'

/** Expired starts are removed when there are more than this. */
const MIN_EXPIRED = 64

export class SlidingWindow implements Pacer {
	#limit: number
	#intervalTicks: number
	/** Starts in ticks, oldest first, reservations included: its length depends on the load. */
	readonly #starts: number[] = []
	/** How many starts are at least one interval old. */
	#expired = 0

	/** Both are integers above 0. */
	constructor(limit: number, intervalMs: number) {
		this.#limit = limit
		this.#intervalTicks = intervalMs * TICKS
	}

	next(now: number): number {
		const starts = this.#starts
		const full = starts[starts.length - this.#limit]
		const free = full === undefined ? -Infinity : full + this.#intervalTicks
		const tick = Math.max(free, starts.at(-1) ?? free)
		// A start at this moment is rounded up, so its tick may be the next one.
		return tick > tickAfter(now) || free > now * TICKS ? tick / TICKS : now
	}

	reserve(now: number): number {
		const start = this.next(now)
		this.#count(now)
		// At least as many are removed as stay, so each start is moved less than once on average.
		if (this.#expired > MIN_EXPIRED && this.#expired * 2 > this.#starts.length) {
			this.#starts.splice(0, this.#expired)
			this.#expired = 0
		}
		this.#starts.push(tickAfter(start))
		return start
	}

	cancel(at: number): boolean {
		const starts = this.#starts
		if (starts.at(-1) !== tickAfter(at)) return false
		starts.pop()
		this.#expired = Math.min(this.#expired, starts.length)
		return true
	}

	available(now: number): number {
		return this.next(now) > now ? 0 : this.#limit - this.#count(now)
	}

	update(limit: number, intervalMs: number): void {
		this.#limit = limit
		this.#intervalTicks = intervalMs * TICKS
		// Some expired starts count again in a longer interval.
		this.#expired = 0
	}

	/** Returns the number of starts that are less than one interval old. */
	#count(now: number): number {
		const starts = this.#starts
		for (const border = now * TICKS - this.#intervalTicks; (starts[this.#expired] ?? Infinity) <= border; )
			this.#expired++
		return starts.length - this.#expired
	}
}
