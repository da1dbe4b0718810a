/**
 * A token bucket without a refill timer: the state is the number of tokens taken since the bucket was last
 * full. An integer count is exact. (Rejected: a next start time to which each call adds an interval. A third
 * of a second added a million times is not a million thirds.)
 */
import { type Pacer, TICKS, tickAfter } from './pacer.ts'

export class TokenBucket implements Pacer {
	#limit: number
	#intervalTicks: number
	#burst: number
	/** When the bucket was last full, in ticks. */
	#fullAt = 0
	/** The number of tokens taken since then. Those above `burst` belong to waiting calls. */
	#taken = 0
	/** The tick of the latest reservation; NaN if unknown. */
	#latest = Number.NaN

	/** `limit` tokens are refilled per `intervalMs`, up to `burst`. All are integers above 0. */
	constructor(limit: number, intervalMs: number, burst: number) {
		this.#limit = limit
		this.#intervalTicks = intervalMs * TICKS
		this.#burst = burst
	}

	next(now: number): number {
		return this.#start(now, this.#refilled(now))
	}

	reserve(now: number): number {
		const refilled = this.#refilled(now)
		const start = this.#start(now, refilled)
		this.#latest = tickAfter(start)
		if (refilled >= this.#taken) {
			this.#fullAt = this.#latest
			this.#taken = 0
		} else if (refilled >= this.#limit) {
			// The same state relative to one interval later: the numbers stay small enough to be exact under any
			// load.
			this.#fullAt += this.#intervalTicks
			this.#taken -= this.#limit
		}
		this.#taken++
		return start
	}

	cancel(at: number, now: number): boolean {
		if (this.#latest !== tickAfter(at)) return false
		const waiting = --this.#taken - this.#burst
		const latest = this.#refillTick(waiting)
		// A call that did not have to wait may have started later than that, but not later than now.
		this.#latest = waiting > 0 && latest >= tickAfter(now) ? latest : Number.NaN
		return true
	}

	available(now: number): number {
		const refilled = this.#refilled(now)
		return Math.max(0, this.#burst - Math.max(0, this.#taken - refilled))
	}

	update(limit: number, intervalMs: number, burst: number, now: number): void {
		const intervalTicks = intervalMs * TICKS
		// A fraction of a token is lost below, so an update without a change must not get there.
		if (limit === this.#limit && intervalTicks === this.#intervalTicks && burst === this.#burst) return
		const tick = tickAfter(now)
		const last = this.#refillTick(Math.max(0, this.#taken - this.#burst))
		if (last > tick) {
			// Calls are waiting. The new rate starts when the last of them empties the bucket, or a new call would
			// overtake them.
			this.#fullAt = last
			this.#taken = burst
		} else {
			this.#taken = Math.max(0, this.#taken - this.#refilled(now))
			this.#fullAt = tick
		}
		// Reservations made at the old rate have no tick at the new one, so they cannot be undone.
		this.#latest = Number.NaN
		this.#limit = limit
		this.#intervalTicks = intervalTicks
		this.#burst = burst
	}

	/** Returns how many tokens have been refilled since the bucket was full. */
	#refilled(now: number): number {
		const ticks = Math.floor(now * TICKS) - this.#fullAt
		return Math.max(0, Math.floor((ticks * this.#limit) / this.#intervalTicks))
	}

	/** Returns the tick at which this many tokens have been refilled. */
	#refillTick(refilled: number): number {
		return this.#fullAt + Math.ceil((refilled * this.#intervalTicks) / this.#limit)
	}

	#start(now: number, refilled: number): number {
		const needed = this.#taken - this.#burst + 1
		return needed > refilled ? this.#refillTick(needed) / TICKS : now
	}
}
