/**
 * Decides which services, destinations and topics have series of their own: each for all metrics that have
 * these labels, or for none. Metrics that decide alone are full at different times, and the ratio of two of
 * them would be wrong for a service that only one of them has.
 */
export class Admission {
	readonly #maxSeries: number
	readonly #admitted = new Set<string>()
	#isClosed = false

	constructor(maxSeries: number) {
		this.#maxSeries = maxSeries
	}

	/** Returns true if these values have series of their own. The result never changes. */
	admits(values: readonly string[]): boolean {
		// No label value contains a line break.
		const key = values.join('\n')
		if (this.#admitted.has(key)) return true
		if (this.#isClosed) return false
		this.#admitted.add(key)
		this.#isClosed = this.#admitted.size >= this.#maxSeries
		return true
	}

	/** A metric is full: from now on, no further values are admitted. */
	close(): void {
		this.#isClosed = true
	}
}
