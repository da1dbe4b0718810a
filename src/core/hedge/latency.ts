/**
 * How long calls took lately, as a histogram whose buckets grow by a factor: eight for each doubling, so that an answer is
 * at most 4.5 % off, from an eighth of a millisecond to more than four hours, in under a kilobyte. A sorted list would be exact,
 * but costs more with every call that it remembers. Old calls are forgotten by halves: when the newer half is full, the older
 * one is dropped. (Halving all counts would need one half only, but the slow calls, which are alone in their buckets, would be
 * the first to vanish, and the percentiles of interest are theirs.)
 */
const PER_DOUBLING = 8
const LEAST_EXPONENT = -3
const BUCKETS = 27 * PER_DOUBLING

/** So many calls fill a half: answers are about the latest 512 to 1,024. */
const HALF = 512

export class LatencyHistogram {
	#newer: Uint16Array | undefined
	#older: Uint16Array | undefined
	#inNewer = 0

	/** How many calls the answers are about. */
	get count(): number {
		return this.#inNewer + (this.#older ? HALF : 0)
	}

	record(ms: number): void {
		if (!this.#newer || this.#inNewer === HALF) {
			const dropped = this.#older
			this.#older = this.#newer
			// The dropped half is used again, so that many calls allocate nothing.
			this.#newer = dropped?.fill(0) ?? new Uint16Array(BUCKETS)
			this.#inNewer = 0
		}
		const bucket = Math.floor((Math.log2(ms) - LEAST_EXPONENT) * PER_DOUBLING)
		const within = Math.max(0, Math.min(BUCKETS - 1, bucket))
		this.#newer[within] = (this.#newer[within] ?? 0) + 1
		this.#inNewer++
	}

	/** The time within which `p` % of the calls ended, 0 to 100; undefined when there were none. */
	percentile(p: number): number | undefined {
		let left = Math.max(1, Math.ceil((this.count * p) / 100))
		for (let bucket = 0; bucket < BUCKETS; bucket++) {
			left -= (this.#newer?.[bucket] ?? 0) + (this.#older?.[bucket] ?? 0)
			// The middle of the bucket, as factors go.
			if (left <= 0) return 2 ** ((bucket + 0.5) / PER_DOUBLING + LEAST_EXPONENT)
		}
		return undefined
	}
}
