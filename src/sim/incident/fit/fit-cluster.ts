/**
 * Finds the candidates that explain a group of detected faults at a number of workers: those whose queue,
 * computed by the model, makes the recorded outcomes likely. All that are about as likely as the best remain.
 * Where the log does not show when a fault ended, because the overload that followed looks the same, the
 * earliest and the latest possible end are both in the result.
 */
import type { DetectedFault } from '../detect/detect-faults.ts'
import { type Candidate, Candidates, type Cluster } from './candidates.ts'
import type { Period, QueueModel } from './queue-model.ts'
import type { RecordedAttempts } from './recorded.ts'

/** Candidates whose log-likelihood is at most this much below the best remain. */
const TOLERANCE = 15

/** Of candidates that differ by less, the one that ends first is preferred: a longer fault is not needed to explain the log. */
export const SAME = 4

/** Factors of slowdowns in the first pass. */
const FACTORS: readonly number[] = [1.25, 1.6, 2, 2.5, 3.2, 4.5, 7, 12]

/** Steps of the second pass, as shares of a factor. */
const FACTOR_STEPS: readonly number[] = [0.12, 0.06, 0.03]

/** Steps of the search for an end, as shares of a duration. */
const END_STEPS: readonly number[] = [0.25, 0.12, 0.06, 0.03, 0.015]

export interface Explanation {
	readonly faults: readonly DetectedFault[]
	readonly toMs: number
	readonly logLikelihood: number
}

export interface ClusterFit {
	readonly best: Explanation
	/** Those with the earliest and the latest end that are about as likely. */
	readonly earliest: Explanation
	readonly latest: Explanation
}

export interface FitContext {
	readonly model: QueueModel
	readonly recorded: RecordedAttempts
	readonly workers: number
	readonly resolutionMs: number
	/** The faults of the groups before. */
	readonly before: readonly DetectedFault[]
	readonly period: Period
}

interface Scored {
	readonly candidate: Candidate
	readonly logLikelihood: number
}

export const fitCluster = (cluster: Cluster, context: FitContext): ClusterFit =>
	new ClusterSearch(cluster, context).run()

class ClusterSearch {
	readonly #context: FitContext
	readonly #cluster: Cluster
	readonly #candidates: Candidates
	readonly #scored: Scored[] = []
	#best = -Infinity

	constructor(cluster: Cluster, context: FitContext) {
		this.#cluster = cluster
		this.#context = context
		this.#candidates = new Candidates(cluster, context.recorded, context.resolutionMs)
	}

	run(): ClusterFit {
		const candidates = this.#candidates
		this.#score(candidates.create('as detected', this.#cluster))
		if (this.#context.workers < Infinity && candidates.starts.length > 0) {
			this.#score(candidates.create('failures only', this.#cluster))
			for (const fromMs of candidates.starts) this.#searchSlowPeriod(fromMs)
			if (candidates.errorsToMs !== undefined) this.#searchEndOfErrors()
		}
		return this.#result()
	}

	#searchSlowPeriod(fromMs: number): void {
		let best = this.#searchEnd('hang', 1, { fromMs, toMs: this.#cluster.toMs })
		const tryFactor = (factor: number): void => {
			const next = this.#searchEnd('slowdown', factor, { fromMs, toMs: best.candidate.toMs })
			if (next.logLikelihood > best.logLikelihood || best.candidate.kind === 'hang') best = next
		}
		for (const factor of FACTORS) tryFactor(factor)
		for (const step of FACTOR_STEPS)
			for (const sign of [-1, 1]) tryFactor(best.candidate.factor * (1 + sign * step))
	}

	/** A candidate that is neither likely nor better than `rival` is not predicted to the end of the period. */
	#score(candidate: Candidate, rival = Infinity): Scored {
		const { model, workers, before, period } = this.#context
		const faults = [...before, ...this.#candidates.faultsOf(candidate)]
		const floor = rival === Infinity ? -Infinity : Math.min(rival, this.#leastLikely)
		const scored = { candidate, logLikelihood: model.logLikelihood({ workers, faults }, period, floor) }
		this.#scored.push(scored)
		this.#best = Math.max(this.#best, scored.logLikelihood)
		return scored
	}

	/** Returns the candidate with the most likely end of the slow period. The end of `guess` is tried first. */
	#searchEnd(kind: Candidate['kind'], factor: number, guess: Period): Scored {
		const { fromMs } = guess
		const first = this.#score(this.#candidates.create(kind, guess, factor))
		let best = first
		const tryEnd = (end: number): number => {
			const toMs = Math.min(this.#cluster.toMs, end)
			const next = this.#score(this.#candidates.create(kind, { fromMs, toMs }, factor), best.logLikelihood)
			if (next.logLikelihood > best.logLikelihood) best = next
			return next.logLikelihood
		}
		const equal = this.#candidates.endsAfter(fromMs).filter((end) => tryEnd(end) === first.logLikelihood)
		// The end is not visible: it makes no difference.
		if (best === first && equal.length > 1) return best
		for (const step of END_STEPS)
			for (let before: Scored | undefined; before !== best; ) {
				before = best
				const lengthMs = before.candidate.toMs - fromMs
				for (const sign of [-1, 1]) tryEnd(fromMs + lengthMs * (1 + sign * step))
			}
		return best
	}

	/** Errors are not visible while no response comes in time: varies their end for the candidates that remain. */
	#searchEndOfErrors(): void {
		const { errorsToMs = 0 } = this.#candidates
		const byLikelihood = [...this.#likely()].sort((a, b) => b.logLikelihood - a.logLikelihood)
		for (const kinds of [['failures only'], ['hang', 'slowdown']]) {
			const candidate = byLikelihood.find((one) => kinds.includes(one.candidate.kind))?.candidate
			if (candidate)
				for (const end of this.#candidates.endsAfter(errorsToMs))
					this.#score({ ...candidate, errorsToMs: end })
		}
	}

	get #leastLikely(): number {
		return this.#best - TOLERANCE
	}

	#likely(): readonly Scored[] {
		return this.#scored.filter(({ logLikelihood }) => logLikelihood >= this.#leastLikely)
	}

	#result(): ClusterFit {
		const explained = this.#likely()
			.map(({ candidate, logLikelihood }) => ({
				faults: this.#candidates.faultsOf(candidate),
				logLikelihood,
				toMs: this.#candidates.endOf(candidate),
			}))
			.sort((a, b) => a.toMs - b.toMs || b.logLikelihood - a.logLikelihood)
		const earliest = explained[0]
		const latest = explained.find(({ toMs }) => toMs === explained.at(-1)?.toMs)
		const fewest = Math.min(...explained.map(({ faults }) => faults.length))
		const simple = explained.filter(({ faults }) => faults.length === fewest)
		const most = Math.max(...simple.map(({ logLikelihood }) => logLikelihood))
		const best = simple.find(({ logLikelihood }) => logLikelihood >= most - SAME)
		if (!best || !earliest || !latest) throw new Error('the best candidate always remains')
		return { best, earliest, latest }
	}
}
