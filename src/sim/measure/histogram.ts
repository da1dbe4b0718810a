/**
 * A log-linear histogram of durations. The bucket is read from the bits of the number: its exponent and the first five bits of its
 * mantissa. Quantiles are at most 1.6 % off, recording needs no logarithm, and the size does not depend on the range.
 */
import type { LatencySummary } from './result.ts'

/** From 2^-20 ms (about a nanosecond) to 2^44 ms. Values beyond fall into the outermost buckets. */
const LEAST = (1023 - 20) << 5
const BUCKETS = 64 << 5

const number = new Float64Array(1)
const words = new Uint32Array(number.buffer)
/** The index of the word with the exponent, which depends on the byte order. */
number[0] = 1
const HIGH: 0 | 1 = words[1] === 0 ? 0 : 1

export class Histogram {
	readonly #counts = new Float64Array(BUCKETS)
	count = 0
	sum = 0
	max = 0

	record(ms: number): void {
		this.count++
		this.sum += ms
		if (ms > this.max) this.max = ms
		number[0] = ms
		const bucket = ((words[HIGH] ?? 0) >>> 15) - LEAST
		const within = bucket < 0 ? 0 : bucket < BUCKETS ? bucket : BUCKETS - 1
		this.#counts[within] = (this.#counts[within] ?? 0) + 1
	}

	merge(other: Histogram): void {
		this.count += other.count
		this.sum += other.sum
		this.max = Math.max(this.max, other.max)
		for (let bucket = 0; bucket < BUCKETS; bucket++)
			this.#counts[bucket] = (this.#counts[bucket] ?? 0) + (other.#counts[bucket] ?? 0)
	}

	/** Returns the duration that `share` of the values (0 to 1) do not exceed; 0 without values. */
	quantile(share: number): number {
		let left = Math.max(1, Math.ceil(this.count * share))
		for (let bucket = 0; bucket < BUCKETS; bucket++) {
			left -= this.#counts[bucket] ?? 0
			if (left <= 0) return Math.min(middle(bucket), this.max)
		}
		return 0
	}

	get summary(): LatencySummary {
		return {
			meanMs: this.count === 0 ? 0 : this.sum / this.count,
			p50Ms: this.quantile(0.5),
			p90Ms: this.quantile(0.9),
			p99Ms: this.quantile(0.99),
			maxMs: this.max,
		}
	}
}

function middle(bucket: number): number {
	if (bucket === 0) return 0
	words[HIGH] = ((bucket + LEAST) << 15) | (1 << 14)
	words[1 - HIGH] = 0
	return number[0] ?? 0
}
