/**
 * Durations by their size, in buckets that are read off the number itself: its exponent and the first five bits after it. An
 * answer is at most 1.6 % off, a record costs no logarithm, and ten thousand years of virtual time need no more room than a second.
 */
import type { LatencySummary } from './result.ts'

/** From 2^-20 ms, which is a nanosecond, to 2^44 ms. What lies beyond counts as the outermost. */
const LEAST = (1023 - 20) << 5
const BUCKETS = 64 << 5

const number = new Float64Array(1)
const words = new Uint32Array(number.buffer)
/** Which of the two words has the exponent. */
number[0] = 1
const HIGH: 0 | 1 = words[1] === 0 ? 0 : 1

export class Histogram {
	readonly #counts = new Float64Array(BUCKETS)
	count = 0
	sum = 0
	most = 0

	record(ms: number): void {
		this.count++
		this.sum += ms
		if (ms > this.most) this.most = ms
		number[0] = ms
		const bucket = ((words[HIGH] ?? 0) >>> 15) - LEAST
		const within = bucket < 0 ? 0 : bucket < BUCKETS ? bucket : BUCKETS - 1
		this.#counts[within] = (this.#counts[within] ?? 0) + 1
	}

	/** Adds all that another has. */
	merge(other: Histogram): void {
		this.count += other.count
		this.sum += other.sum
		this.most = Math.max(this.most, other.most)
		for (let bucket = 0; bucket < BUCKETS; bucket++)
			this.#counts[bucket] = (this.#counts[bucket] ?? 0) + (other.#counts[bucket] ?? 0)
	}

	/** The time that `share` of all, 0 to 1, lie within; 0 when there are none. */
	quantile(share: number): number {
		let left = Math.max(1, Math.ceil(this.count * share))
		for (let bucket = 0; bucket < BUCKETS; bucket++) {
			left -= this.#counts[bucket] ?? 0
			if (left <= 0) return Math.min(middle(bucket), this.most)
		}
		return 0
	}

	get summary(): LatencySummary {
		return {
			meanMs: this.count === 0 ? 0 : this.sum / this.count,
			p50Ms: this.quantile(0.5),
			p90Ms: this.quantile(0.9),
			p99Ms: this.quantile(0.99),
			maxMs: this.most,
		}
	}
}

function middle(bucket: number): number {
	if (bucket === 0) return 0
	words[HIGH] = ((bucket + LEAST) << 15) | (1 << 14)
	words[1 - HIGH] = 0
	return number[0] ?? 0
}
