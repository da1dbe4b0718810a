/**
 * A log-linear histogram of durations. The bucket is read from the bits of the number: its exponent and the
 * first six bits of its mantissa, so recording needs no logarithm and the size does not depend on the range.
 * A bucket knows its least and greatest value, and quantiles are interpolated between them by rank. They are
 * at most 1.6 % off, the width of a bucket; a latency that is always the same is exact; and two runs return
 * the same value only if they are the same, which the middle of a bucket would not guarantee: confidence
 * intervals of zero width would claim a precision that the runs do not have.
 */
import type { LatencySummary } from './result.ts'

/** From 2^-20 ms (about a nanosecond) to 2^44 ms. Values beyond fall into the outermost buckets. */
const FIRST = (1023 - 20) << 6
const OCTAVES = 64
/** Buckets of an octave, and the fields of a bucket: count, least and greatest value. */
const BUCKETS = 64
const FIELDS = 3
const LAST_BUCKET = OCTAVES * BUCKETS - 1

const number = new Float64Array(1)
const words = new Uint32Array(number.buffer)
/** The index of the word with the exponent, which depends on the byte order. */
number[0] = 1
const HIGH: 0 | 1 = words[1] === 0 ? 0 : 1

export class Histogram {
	/** The buckets of each exponent, created when first used: most runs need a few, and a study has thousands of runs. */
	readonly #octaves: (Float64Array | undefined)[] = new Array(OCTAVES).fill(undefined)
	count = 0
	sum = 0
	max = 0

	record(ms: number): void {
		this.count++
		this.sum += ms
		if (ms > this.max) this.max = ms
		number[0] = ms
		const found = ((words[HIGH] ?? 0) >>> 14) - FIRST
		const bucket = found < 0 ? 0 : found < LAST_BUCKET ? found : LAST_BUCKET
		const buckets = this.#octaves[bucket >>> 6] ?? this.#addOctave(bucket >>> 6)
		const at = (bucket & (BUCKETS - 1)) * FIELDS
		const count = buckets[at] ?? 0
		buckets[at] = count + 1
		if (count === 0 || ms < (buckets[at + 1] ?? 0)) buckets[at + 1] = ms
		if (ms > (buckets[at + 2] ?? 0)) buckets[at + 2] = ms
	}

	merge(other: Histogram): void {
		this.count += other.count
		this.sum += other.sum
		this.max = Math.max(this.max, other.max)
		for (const [octave, theirs] of other.#octaves.entries()) {
			if (!theirs) continue
			const ours = this.#octaves[octave] ?? this.#addOctave(octave)
			for (let at = 0; at < theirs.length; at += FIELDS) {
				const [count = 0, least = 0, greatest = 0] = theirs.subarray(at, at + FIELDS)
				if (count === 0) continue
				ours[at + 1] = ours[at] === 0 ? least : Math.min(ours[at + 1] ?? 0, least)
				ours[at + 2] = Math.max(ours[at + 2] ?? 0, greatest)
				ours[at] = (ours[at] ?? 0) + count
			}
		}
	}

	/** Returns the duration that `share` of the values (0 to 1) do not exceed; 0 without values. */
	quantile(share: number): number {
		let rank = Math.max(1, Math.ceil(this.count * share))
		for (const buckets of this.#octaves)
			for (let at = 0; buckets && at < buckets.length; at += FIELDS) {
				const count = buckets[at] ?? 0
				if (rank <= count) return between(buckets[at + 1] ?? 0, buckets[at + 2] ?? 0, rank, count)
				rank -= count
			}
		return 0
	}

	get summary(): LatencySummary {
		return {
			meanMs: this.count === 0 ? 0 : this.sum / this.count,
			p50Ms: this.quantile(0.5),
			p90Ms: this.quantile(0.9),
			p99Ms: this.quantile(0.99),
			p999Ms: this.quantile(0.999),
			maxMs: this.max,
		}
	}

	#addOctave(octave: number): Float64Array {
		const buckets = new Float64Array(BUCKETS * FIELDS)
		this.#octaves[octave] = buckets
		return buckets
	}
}

/** The value of a rank, 1 to `count`, if the values are spread evenly from the least to the greatest. */
const between = (least: number, greatest: number, rank: number, count: number): number =>
	count === 1 || least === greatest ? greatest : least + ((greatest - least) * (rank - 1)) / (count - 1)
