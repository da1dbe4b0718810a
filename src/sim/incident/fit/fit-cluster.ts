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

/** If candidates differ by less, the first to end is preferred: the log needs no longer fault to be explained. */
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

export function fitCluster(cluster: Cluster, context: FitContext): ClusterFit {
	const { model, workers, before, period, recorded, resolutionMs } = context
	const candidates = new Candidates(cluster, recorded, resolutionMs)
	const scored: Scored[] = []
	let most = -Infinity

	/** A candidate that is neither likely nor better than `rival` is not predicted to the end of the period. */
	const score = (candidate: Candidate, rival = Infinity): Scored => {
		const faults = [...before, ...candidates.faultsOf(candidate)]
		const floor = rival === Infinity ? -Infinity : Math.min(rival, most - TOLERANCE)
		const logLikelihood = model.logLikelihood({ workers, faults }, period, floor)
		scored.push({ candidate, logLikelihood })
		most = Math.max(most, logLikelihood)
		return { candidate, logLikelihood }
	}

	/** Returns the candidate with the most likely end of the slow period. The end of `guess` is tried first. */
	const searchEnd = (kind: Candidate['kind'], factor: number, guess: Period): Scored => {
		const { fromMs } = guess
		const first = score(candidates.create(kind, guess, factor))
		let best = first
		const tryEnd = (end: number): number => {
			const toMs = Math.min(cluster.toMs, end)
			const next = score(candidates.create(kind, { fromMs, toMs }, factor), best.logLikelihood)
			if (next.logLikelihood > best.logLikelihood) best = next
			return next.logLikelihood
		}
		const equal = candidates.endsAfter(fromMs).filter((end) => tryEnd(end) === first.logLikelihood)
		// The end is not visible: it makes no difference.
		if (best === first && equal.length > 1) return best
		for (const step of END_STEPS)
			for (let last: Scored | undefined; last !== best; ) {
				last = best
				const lengthMs = last.candidate.toMs - fromMs
				for (const sign of [-1, 1]) tryEnd(fromMs + lengthMs * (1 + sign * step))
			}
		return best
	}

	const searchSlowPeriod = (fromMs: number): void => {
		let best = searchEnd('hang', 1, { fromMs, toMs: cluster.toMs })
		const tryFactor = (factor: number): void => {
			const next = searchEnd('slowdown', factor, { fromMs, toMs: best.candidate.toMs })
			if (next.logLikelihood > best.logLikelihood || best.candidate.kind === 'hang') best = next
		}
		for (const factor of FACTORS) tryFactor(factor)
		for (const step of FACTOR_STEPS)
			for (const sign of [-1, 1]) tryFactor(best.candidate.factor * (1 + sign * step))
	}

	const likely = () => scored.filter(({ logLikelihood }) => logLikelihood >= most - TOLERANCE)

	/** Errors are not visible while no response comes in time: varies their end for the candidates that remain. */
	const searchEndOfErrors = (errorsToMs: number): void => {
		const byLikelihood = likely().sort((a, b) => b.logLikelihood - a.logLikelihood)
		for (const kinds of [['failures only'], ['hang', 'slowdown']]) {
			const candidate = byLikelihood.find((one) => kinds.includes(one.candidate.kind))?.candidate
			if (candidate)
				for (const end of candidates.endsAfter(errorsToMs)) score({ ...candidate, errorsToMs: end })
		}
	}

	score(candidates.create('as detected', cluster))
	if (workers < Infinity && candidates.starts.length > 0) {
		score(candidates.create('failures only', cluster))
		for (const fromMs of candidates.starts) searchSlowPeriod(fromMs)
		if (candidates.errorsToMs !== undefined) searchEndOfErrors(candidates.errorsToMs)
	}
	return selectExplanations(
		likely().map(({ candidate, logLikelihood }) => ({
			faults: candidates.faultsOf(candidate),
			logLikelihood,
			toMs: candidates.endOf(candidate),
		})),
	)
}

function selectExplanations(likely: readonly Explanation[]): ClusterFit {
	const explained = likely.toSorted((a, b) => a.toMs - b.toMs || b.logLikelihood - a.logLikelihood)
	const earliest = explained[0]
	const latest = explained.find(({ toMs }) => toMs === explained.at(-1)?.toMs)
	const fewest = Math.min(...explained.map(({ faults }) => faults.length))
	const simple = explained.filter(({ faults }) => faults.length === fewest)
	const most = Math.max(...simple.map(({ logLikelihood }) => logLikelihood))
	const best = simple.find(({ logLikelihood }) => logLikelihood >= most - SAME)
	if (!best || !earliest || !latest) throw new Error('the best candidate always remains')
	return { best, earliest, latest }
}
