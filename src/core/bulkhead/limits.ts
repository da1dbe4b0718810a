/**
 * How many calls may run at once, found out from what became of them. Decided once a round, which is as many answers as
 * there are slots: one answer is mostly noise, and a limit that was just lowered must not be lowered again for the calls
 * that had begun under the old one.
 *
 * `gradient` compares the latency now with the latency without a queue at the other end. The published form takes the mean
 * of a long time for the latter; under a load that does not let up that mean learns the queue, and the limit drifts to its
 * greatest. Here it is measured: in rounds that used little of the limit and, when there were none for long, by lowering the
 * limit for a round. At an overloaded server this takes away its queue and next to none of its work.
 */
import { isAmount } from '../options/schema.ts'

export interface LimitAlgorithm {
	/** A whole number within the bounds. */
	readonly limit: number
	/** Told of every call that ended while `concurrent` ran, itself included. Answers the limit from now on. */
	sample(latencyMs: number, isDropped: boolean, concurrent: number): number
}

export interface LimitSettings {
	readonly algorithm: 'gradient' | 'aimd'
	readonly minConcurrent: number
	readonly maxConcurrent: number
	readonly initialConcurrent: number
	readonly latencyTolerance: number
	/** Infinity when no latency counts as a drop. */
	readonly latencyLimitMs: number
}

/** The limit after a round without a drop that used at least half of it. */
type NextLimit = (limit: number, latencyMs: number, unloadedMs: number, tolerance: number) => number

export const ALGORITHMS: Record<LimitSettings['algorithm'], NextLimit> = {
	// Down to a half at most, in proportion to the slowness, and up by a little queue so that growth is ever tried: the
	// mean of that and the old limit. A millisecond on both sides keeps the grain of clocks from looking like a queue.
	gradient: (limit, latencyMs, unloadedMs, tolerance) =>
		(limit * (1 + Math.max(0.5, Math.min(1, (tolerance * (unloadedMs + 1)) / (latencyMs + 1)))) +
			Math.sqrt(limit) / 2) /
		2,
	aimd: (limit) => limit + 1,
}

/** What a drop leaves of the limit. */
const AFTER_DROP = 0.9

/** After so many rounds the unloaded latency is measured anew. */
const ROUNDS_BETWEEN_PROBES = 16

export const within = (
	{ minConcurrent, maxConcurrent }: Pick<LimitSettings, 'minConcurrent' | 'maxConcurrent'>,
	limit: number,
): number => Math.max(minConcurrent, Math.min(maxConcurrent, limit))

export class AdaptiveLimit implements LimitAlgorithm {
	#settings: LimitSettings
	/** With its fraction, which would otherwise be lost at every small step. */
	#exact: number
	#unloadedMs: number | undefined
	#isProbing = false
	#roundsToProbe = ROUNDS_BETWEEN_PROBES
	/** Of this round: how many answers it still takes, how many counted, their mean, and the most that ran at once. */
	#left: number
	#counted = 0
	#meanMs = 0
	#peak = 0
	/** This round's calls began before the limit jumped: it proves nothing. */
	#isStale = false

	constructor(settings: LimitSettings) {
		this.#settings = settings
		this.#left = this.#exact = settings.initialConcurrent
	}

	get limit(): number {
		return this.#isProbing ? this.#probeLimit : this.found
	}

	/** The limit without what is taken off it for a look at the latency: that is no finding. */
	get found(): number {
		return Math.floor(this.#exact)
	}

	/**
	 * Other settings from now on. The limit stays, as far as the new bounds allow, and so does what was measured; a look at the
	 * latency is given up until the next is due.
	 */
	update(settings: LimitSettings): void {
		this.#settings = settings
		this.#exact = within(settings, this.#exact)
		this.#isProbing = false
		this.#roundsToProbe = ROUNDS_BETWEEN_PROBES
		this.#isStale = true
	}

	sample(latencyMs: number, isDropped: boolean, concurrent: number): number {
		const isDrop = isDropped || latencyMs > this.#settings.latencyLimitMs
		if (isDrop && !this.#isStale) {
			this.#exact = within(this.#settings, this.#exact * AFTER_DROP)
			this.#begin(concurrent, true)
		} else if (isDrop || isAmount(latencyMs)) {
			this.#peak = Math.max(this.#peak, concurrent)
			// A running mean: the sum of absurd latencies would be Infinity.
			if (!isDrop) this.#meanMs += (latencyMs - this.#meanMs) / ++this.#counted
			if (--this.#left <= 0) this.#decide(concurrent)
		}
		return this.limit
	}

	/** Low enough to measure without a queue even where the limit is as far above the capacity as the tolerance lets it. */
	get #probeLimit(): number {
		const { minConcurrent, latencyTolerance } = this.#settings
		return Math.max(minConcurrent, Math.floor(this.#exact / (latencyTolerance + 0.5)))
	}

	#decide(concurrent: number): void {
		const settings = this.#settings
		const wasProbing = this.#isProbing
		const mean = this.#meanMs
		if (!this.#isStale) {
			const isUnloaded = this.#peak <= this.#probeLimit
			const unloaded = this.#unloadedMs ?? mean
			// Work that takes half as long even under load has become faster. (Any less may be chance, which must not add up.)
			this.#unloadedMs = isUnloaded || mean * 2 < unloaded ? (unloaded + mean) / 2 : unloaded
			if (isUnloaded) {
				this.#isProbing = false
				this.#roundsToProbe = ROUNDS_BETWEEN_PROBES
			}
			// Where less than half of the limit is in use, nothing is known about more of it.
			if (this.#peak * 2 >= this.#exact) {
				const next = ALGORITHMS[settings.algorithm]
				this.#exact = within(settings, next(this.#exact, mean, this.#unloadedMs, settings.latencyTolerance))
				this.#isProbing = settings.algorithm === 'gradient' && --this.#roundsToProbe <= 0
			}
		}
		// The first answers after a jump are the quickest ones: taken for all, they would make the others look slow.
		this.#begin(concurrent, wasProbing !== this.#isProbing)
	}

	#begin(concurrent: number, isStale: boolean): void {
		this.#left = Math.max(concurrent, this.limit)
		this.#counted = this.#meanMs = this.#peak = 0
		this.#isStale = isStale
	}
}
