/**
 * Finds the concurrency limit from the outcomes of calls. It decides once per round, which is as many
 * completed calls as there are slots: a single call is mostly noise, and a limit that was just lowered must
 * not be lowered again because of calls that began under the old one.
 *
 * `gradient` compares the current latency with the latency without queueing at the server. The published form
 * estimates the latter by a long-term mean; under sustained load that mean learns the queue, and the limit
 * drifts to its maximum. Here it is measured: in rounds that used little of the limit and, if there were none
 * for long, by lowering the limit for one round. At an overloaded server this removes the queue and almost
 * none of the throughput.
 */
import { isAmount } from '../options/schema.ts'

export interface LimitSettings {
	readonly algorithm: 'gradient' | 'aimd'
	readonly minConcurrent: number
	readonly maxConcurrent: number
	readonly initialConcurrent: number
	readonly latencyTolerance: number
	/** Infinity if no latency counts as a failure. */
	readonly latencyLimitMs: number
}

/** Returns the limit after a round without failures that used at least half of it. */
type NextLimit = (limit: number, latencyMs: number, unloadedMs: number, tolerance: number) => number

export const ALGORITHMS: Record<LimitSettings['algorithm'], NextLimit> = {
	// The limit times the latency ratio, at least half of the limit, plus a small queue so that growth is
	// tried; averaged with the old limit. One millisecond on both sides keeps clock granularity from looking
	// like a queue.
	gradient: (limit, latencyMs, unloadedMs, tolerance) =>
		(limit * (1 + Math.max(0.5, Math.min(1, (tolerance * (unloadedMs + 1)) / (latencyMs + 1)))) +
			Math.sqrt(limit) / 2) /
		2,
	aimd: (limit) => limit + 1,
}

/** The factor by which a failure reduces the limit. */
const AFTER_DROP = 0.9

/** After this many rounds the unloaded latency is measured again. */
const ROUNDS_BETWEEN_PROBES = 16

export const within = (
	{ minConcurrent, maxConcurrent }: Pick<LimitSettings, 'minConcurrent' | 'maxConcurrent'>,
	limit: number,
): number => Math.max(minConcurrent, Math.min(maxConcurrent, limit))

export class AdaptiveLimit {
	#settings: LimitSettings
	/** The limit with its fraction, which would otherwise be lost at every small step. */
	#exact: number
	#unloadedMs: number | undefined
	#isProbing = false
	#roundsToProbe = ROUNDS_BETWEEN_PROBES
	/**
	 * This round: completed calls still needed, calls that counted, their mean latency, and the maximum
	 * concurrency.
	 */
	#left: number
	#counted = 0
	#meanMs = 0
	#peak = 0
	/** The calls of this round began before the limit jumped, so it proves nothing. */
	#isStale = false

	constructor(settings: LimitSettings) {
		this.#settings = settings
		this.#left = this.#exact = settings.initialConcurrent
	}

	/** An integer within the bounds. */
	get limit(): number {
		return this.#isProbing ? this.#probeLimit : this.found
	}

	/** The limit without the temporary reduction for a latency measurement. */
	get found(): number {
		return Math.floor(this.#exact)
	}

	/**
	 * Changes settings. The limit stays within the new bounds, and so does what was measured; a running latency
	 * measurement is dropped until the next is due.
	 */
	update(settings: LimitSettings): void {
		this.#settings = settings
		this.#exact = within(settings, this.#exact)
		this.#isProbing = false
		this.#roundsToProbe = ROUNDS_BETWEEN_PROBES
		this.#isStale = true
	}

	/** Records a call that ended while `concurrent` calls ran, itself included. Returns the new limit. */
	sample(latencyMs: number, isDropped: boolean, concurrent: number): number {
		const isDrop = isDropped || latencyMs > this.#settings.latencyLimitMs
		if (isDrop && !this.#isStale) {
			this.#exact = within(this.#settings, this.#exact * AFTER_DROP)
			this.#begin(concurrent, true)
		} else if (isDrop || isAmount(latencyMs)) {
			this.#peak = Math.max(this.#peak, concurrent)
			// A running mean, because the sum of very large latencies would be Infinity.
			if (!isDrop) this.#meanMs += (latencyMs - this.#meanMs) / ++this.#counted
			if (--this.#left <= 0) this.#decide(concurrent)
		}
		return this.limit
	}

	/** Low enough to measure without queueing even if the limit exceeds the capacity by the whole tolerance. */
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
			// Calls that take half as long even under load have become faster. (A smaller difference may be random,
			// and must not accumulate.)
			this.#unloadedMs = isUnloaded || mean * 2 < unloaded ? (unloaded + mean) / 2 : unloaded
			if (isUnloaded) {
				this.#isProbing = false
				this.#roundsToProbe = ROUNDS_BETWEEN_PROBES
			}
			// If less than half of the limit is in use, the round says nothing about a higher limit.
			if (this.#peak * 2 >= this.#exact) {
				const next = ALGORITHMS[settings.algorithm]
				this.#exact = within(settings, next(this.#exact, mean, this.#unloadedMs, settings.latencyTolerance))
				this.#isProbing = settings.algorithm === 'gradient' && --this.#roundsToProbe <= 0
			}
		}
		// The first calls to complete after a jump are the fastest. Taken for all, they would make the others
		// look slow.
		this.#begin(concurrent, wasProbing !== this.#isProbing)
	}

	#begin(concurrent: number, isStale: boolean): void {
		this.#left = Math.max(concurrent, this.limit)
		this.#counted = this.#meanMs = this.#peak = 0
		this.#isStale = isStale
	}
}
