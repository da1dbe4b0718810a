/**
 * A count that changes over time: its current value, its maximum, and the area under it (the sum of the time
 * that each item spent). Divided by the duration, the area is the mean count. Little's law then holds exactly
 * in every run, which the tests check. Maximum, area and the number of items that entered are from the end of
 * the warm-up on.
 */
export class TimeWeightedCount {
	current = 0
	max = 0
	entered = 0
	#area = 0
	#since: number

	constructor(warmUpMs = 0) {
		this.#since = warmUpMs
	}

	enter(now: number): void {
		this.#advance(now)
		this.current++
		if (now < this.#since) return
		this.entered++
		if (this.current > this.max) this.max = this.current
	}

	leave(now: number): void {
		this.#advance(now)
		this.current--
	}

	/** Returns the area up to now. Changes nothing, so that reading it during a run does not change how the sum is rounded. */
	area(now: number): number {
		return this.#area + this.current * Math.max(0, now - this.#since)
	}

	#advance(now: number): void {
		if (now < this.#since) return
		// What was there at the end of the warm-up counts too.
		if (this.current > this.max) this.max = this.current
		this.#area += this.current * (now - this.#since)
		this.#since = now
	}
}
