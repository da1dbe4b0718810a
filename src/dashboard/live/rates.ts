/** Counts of one source in steps of ten seconds, for the last ten minutes. Its size does not depend on the load. */

export const BUCKET_MS = 10_000
export const BUCKETS = 60

/** Reasons of rejections other than by a circuit. */
export type LimitReason = 'bulkhead-full' | 'queue-timeout' | 'rate-limited'

export const LIMIT_REASONS: readonly LimitReason[] = ['bulkhead-full', 'queue-timeout', 'rate-limited']

/**
 * `unhealthy`: a failure that says something about the dependency, neither permanent nor an abort. `success`:
 * calls that succeeded, as far as a later failure has counted them.
 */
export type CountKind =
	| 'failure'
	| 'rejected'
	| 'retry'
	| 'retried'
	| 'retried-success'
	| 'unhealthy'
	| 'success'
	| LimitReason

const KINDS: readonly CountKind[] = [
	'failure',
	'rejected',
	'retry',
	'retried',
	'retried-success',
	'unhealthy',
	'success',
	...LIMIT_REASONS,
]

export class Rates {
	readonly #counts = new Float64Array(BUCKETS * KINDS.length)
	readonly #createdAt: number
	#current: number

	constructor(now: number) {
		this.#createdAt = now
		this.#current = bucketOf(now)
	}

	add(now: number, kind: CountKind, amount = 1): void {
		this.#advance(now)
		const index = indexOf(this.#current, kind)
		this.#counts[index] = (this.#counts[index] ?? 0) + amount
	}

	/** Returns the sum of the latest buckets. The last one is not complete. */
	sum(now: number, kind: CountKind, buckets: number = BUCKETS): number {
		return this.series(now, kind)
			.slice(-buckets)
			.reduce((total, count) => total + count, 0)
	}

	/** Returns the mean of the latest buckets, or of the time since the start if that is shorter. */
	perSecond(now: number, kind: CountKind, buckets: number): number {
		const spanMs = (buckets - 1) * BUCKET_MS + (now - bucketOf(now) * BUCKET_MS)
		const knownMs = Math.min(spanMs, now - this.#createdAt)
		return this.sum(now, kind, buckets) / (Math.max(knownMs, 1_000) / 1_000)
	}

	/** Returns the count of each bucket, oldest first. */
	series(now: number, kind: CountKind): number[] {
		this.#advance(now)
		return Array.from(
			{ length: BUCKETS },
			(_, age) => this.#counts[indexOf(this.#current - BUCKETS + 1 + age, kind)] ?? 0,
		)
	}

	#advance(now: number): void {
		const bucket = bucketOf(now)
		// After a long idle time, one round clears every bucket. A clock that goes back clears nothing.
		const first = Math.max(this.#current + 1, bucket - BUCKETS + 1)
		for (let stale = first; stale <= bucket; stale++)
			for (const kind of KINDS) this.#counts[indexOf(stale, kind)] = 0
		this.#current = Math.max(this.#current, bucket)
	}
}

const bucketOf = (now: number): number => Math.floor(now / BUCKET_MS)

const indexOf = (bucket: number, kind: CountKind): number =>
	(((bucket % BUCKETS) + BUCKETS) % BUCKETS) * KINDS.length + KINDS.indexOf(kind)
