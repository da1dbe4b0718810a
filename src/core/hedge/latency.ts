/**
 * Recent latencies as a histogram whose buckets grow by a factor: eight per doubling, so that a percentile is
 * at most 4.5 % off, from an eighth of a millisecond to more than four hours, in under a kilobyte. A sorted
 * list would be exact, but costs more with every call that it keeps. Old calls are forgotten by halves: when
 * the newer half is full, the older one is dropped. (Halving all counts would need only one half, but slow
 * calls, which are alone in their buckets, would vanish first, and the percentiles of interest are theirs.)
 */
const PER_DOUBLING = 8
const LEAST_EXPONENT = -3
const BUCKETS = 27 * PER_DOUBLING

/** This many calls fill a half: percentiles cover the last 512 to 1,024 calls. */
const HALF = 512

export class LatencyHistogram {
	#newer: Uint16Array | undefined
	#older: Uint16Array | undefined
	#inNewer = 0

	/** The number of calls that percentiles cover. */
	get count(): number {
		return this.#inNewer + (this.#older ? HALF : 0)
	}

	record(ms: number): void {
		if (!this.#newer || this.#inNewer === HALF) {
			const dropped = this.#older
			this.#older = this.#newer
			// The dropped half is reused, so that recording allocates nothing.
			this.#newer = dropped?.fill(0) ?? new Uint16Array(BUCKETS)
			this.#inNewer = 0
		}
		const bucket = Math.floor((Math.log2(ms) - LEAST_EXPONENT) * PER_DOUBLING)
		const within = Math.max(0, Math.min(BUCKETS - 1, bucket))
		this.#newer[within] = (this.#newer[within] ?? 0) + 1
		this.#inNewer++
	}

	/** Returns the latency percentile `p`, 0 to 100; undefined without calls. */
	percentile(p: number): number | undefined {
		let left = Math.max(1, Math.ceil((this.count * p) / 100))
		for (let bucket = 0; bucket < BUCKETS; bucket++) {
			left -= (this.#newer?.[bucket] ?? 0) + (this.#older?.[bucket] ?? 0)
			// The geometric middle of the bucket.
			if (left <= 0) return 2 ** ((bucket + 0.5) / PER_DOUBLING + LEAST_EXPONENT)
		}
		return undefined
	}
}
