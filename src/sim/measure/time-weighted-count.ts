/**
 * How many are there, over time: the area under that number, its peak, and the time that each spent. Little's law ties the
 * two and holds exactly in every run, so it is a test of the books and not of luck.
 */
export class TimeWeightedCount {
	/** Now. */
	number = 0
	most = 0
	entered = 0
	#area = 0
	#since = 0

	enter(now: number): void {
		this.#advance(now)
		this.entered++
		if (++this.number > this.most) this.most = this.number
	}

	leave(now: number): void {
		this.#advance(now)
		this.number--
	}

	/** The sum of everybody's time up to now. Only looks: who asks on the way must not change how the sum is rounded. */
	area(now: number): number {
		return this.#area + this.number * (now - this.#since)
	}

	#advance(now: number): void {
		this.#area += this.number * (now - this.#since)
		this.#since = now
	}
}
