/**
 * Checks the explanation of a log against the log: the recorded attempts go through the scenario, and their
 * predicted outcomes are compared with the recorded ones. What the reader does not understand shows here,
 * whatever it is.
 */
import type { DetectedFault } from './detect/detect-faults.ts'
import type { Pace } from './detect/service-time.ts'
import type { IncidentFit } from './fit/fit-incident.ts'
import { KIND } from './fit/recorded.ts'
import type { AttemptBins } from './log/attempts.ts'
import { at, increase } from './log/numbers.ts'

/** How well the scenario predicts the recorded attempts. */
export interface Reproduction {
	/** The share of attempts that got a response in time, 0 to 1. */
	readonly recordedShare: number
	readonly predictedShare: number
	/** The mean difference between the two, 0 to 1, over the bins of the search for faults. */
	readonly difference: number
}

interface Check {
	readonly reproduction: Reproduction
	/** Attempts that were slow or timed out outside of slow faults, because they waited for a worker. */
	readonly explainedByLoad: number
}

/** A wait of this share of the excess time explains it. */
const MIN_SHARE = 0.6

export function checkExplanation(
	{ best, model, recorded }: IncidentFit,
	bins: AttemptBins,
	pace: Pace,
): Check {
	const { attempts, widthMs, length } = bins
	const [seen, expected] = [new Float64Array(length), new Float64Array(length)]
	let explainedByLoad = 0
	model.predict(best, { fromMs: 0, toMs: Infinity }, (position, probabilities, waitMs) => {
		const startMs = at(recorded.startMs, position)
		const bin = Math.min(length - 1, Math.floor(startMs / widthMs))
		const kind = at(recorded.kind, position)
		if (kind < KIND.failed) increase(seen, bin)
		for (let one = 0; one < KIND.failed; one++) increase(expected, bin, at(probabilities, one))
		const durationMs = attempts.durationMs(at(recorded.index, position))
		const isSlow = kind === KIND.timedOut || (kind < KIND.failed && durationMs > pace.slowMs)
		const isEnough = waitMs > 0 && waitMs >= MIN_SHARE * (durationMs - pace.medianMs)
		if (isSlow && isEnough && !best.faults.some((fault) => isSlowAt(fault, startMs))) explainedByLoad++
		return true
	})
	const total = Math.max(1, recorded.length)
	const sum = (values: Float64Array) => values.reduce((all, one) => all + one, 0)
	return {
		explainedByLoad,
		reproduction: {
			recordedShare: sum(seen) / total,
			predictedShare: sum(expected) / total,
			difference: sum(seen.map((count, bin) => Math.abs(count - at(expected, bin)))) / total,
		},
	}
}

const isSlowAt = ({ kind, fromMs, toMs }: DetectedFault, ms: number): boolean =>
	kind !== 'errors' && fromMs <= ms && ms < toMs
