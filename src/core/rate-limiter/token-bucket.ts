/**
 * A token bucket as virtual scheduling: nothing is poured in, the time at which the bucket will be full again is known
 * instead. It is held as a whole number of tokens taken since the bucket was last full, and not as a time to which an
 * interval is added for each call: a third of a second added a million times is not a million thirds.
 */
import { CancelledReservations, type Pacer, TICKS, tickAfter } from './pacer.ts'

export class TokenBucket implements Pacer {
	#limit: number
	#intervalTicks: number
	#burst: number
	/** When the bucket was last full, in ticks. */
	#fullAt = 0
	/** How many tokens have been taken since. Above the burst, they are those of calls that wait. */
	#taken = 0
	/** The tick of the latest booking, NaN when it is not known. */
	#latest = Number.NaN
	#givenBack: CancelledReservations | undefined

	/** `limit` tokens come back in each `intervalMs`, up to `burst`. Whole numbers above 0. */
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
			// The same state, told from one interval later: the numbers stay small enough to be exact under any load.
			this.#fullAt += this.#intervalTicks
			this.#taken -= this.#limit
		}
		this.#taken++
		return start
	}

	cancel(at: number, now: number): void {
		const tick = tickAfter(now)
		this.#givenBack ??= new CancelledReservations()
		this.#givenBack.add(
			tickAfter(at),
			tick,
			() => this.#latest,
			() => {
				const place = --this.#taken - this.#burst
				const latest = this.#tickOf(place)
				// Who did not have to wait may have started later than that.
				this.#latest = place > 0 && latest > tick ? latest : Number.NaN
			},
		)
	}

	available(now: number): number {
		const refilled = this.#refilled(now)
		return Math.max(0, this.#burst - Math.max(0, this.#taken - refilled))
	}

	update(limit: number, intervalMs: number, burst: number, now: number): void {
		const intervalTicks = intervalMs * TICKS
		// Part of a token is lost below. Settings that are only read again must not lose it each time.
		if (limit === this.#limit && intervalTicks === this.#intervalTicks && burst === this.#burst) return
		const tick = tickAfter(now)
		const last = this.#tickOf(Math.max(0, this.#taken - this.#burst))
		if (last > tick) {
			// Calls wait. The new rate begins where the last of them empties the bucket, or a newcomer would overtake them.
			this.#fullAt = last
			this.#taken = burst
		} else {
			this.#taken = Math.max(0, this.#taken - this.#refilled(now))
			this.#fullAt = tick
		}
		// Bookings of another rate are not told apart by its places, so they can not be given back.
		this.#latest = Number.NaN
		this.#limit = limit
		this.#intervalTicks = intervalTicks
		this.#burst = burst
	}

	/** How many tokens have come back since the bucket was full. */
	#refilled(now: number): number {
		const ticks = Math.floor(now * TICKS) - this.#fullAt
		return Math.max(0, Math.floor((ticks * this.#limit) / this.#intervalTicks))
	}

	/** When so many tokens have come back. */
	#tickOf(refilled: number): number {
		return this.#fullAt + Math.ceil((refilled * this.#intervalTicks) / this.#limit)
	}

	#start(now: number, refilled: number): number {
		const needed = this.#taken - this.#burst + 1
		return needed > refilled ? this.#tickOf(needed) / TICKS : now
	}
}
