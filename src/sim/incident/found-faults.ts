/** The evidence for the faults that explain a log: the attempts that show each, and the possible range of its end. */
import type { DetectedFault, FoundFault } from './detect/detect-faults.ts'
import { type Pace, roundToMicroseconds } from './detect/service-time.ts'
import type { IncidentFit } from './fit/fit-incident.ts'
import { OUTCOME } from './log/attempt-outcome.ts'
import type { AttemptBins } from './log/attempts.ts'

export function describeFaults(
	{ best, others }: IncidentFit,
	detected: readonly FoundFault[],
	bins: AttemptBins,
	pace: Pace,
): readonly FoundFault[] {
	const describe = (fault: DetectedFault): FoundFault => {
		const known = detected.find((found) => found.fault === fault)
		const alike = others
			.flatMap(({ faults }) => faults)
			.filter(({ kind, fromMs }) => kind === fault.kind && fromMs === fault.fromMs)
		const ends = [fault.toMs, ...alike.map(({ toMs }) => toMs)]
		const [minMs, maxMs] = known?.endsBetweenMs ?? [fault.toMs, fault.toMs]
		const isEndHidden = Math.min(...ends) < minMs || Math.max(...ends) > maxMs
		return {
			...(known ?? countEvidence(fault, bins, pace)),
			...{ fault: roundFault(fault), isEndHidden },
			endsBetweenMs: [
				roundToMicroseconds(Math.min(minMs, ...ends)),
				roundToMicroseconds(Math.max(maxMs, ...ends)),
			],
		}
	}
	return best.faults
		.map(describe)
		.sort(({ fault: a }, { fault: b }) => a.fromMs - b.fromMs || a.toMs - b.toMs)
}

/** Counts the attempts during a fault, and those of them that show it. */
function countEvidence(fault: DetectedFault, bins: AttemptBins, { slowMs }: Pace): FoundFault {
	const { attempts, origin, widthMs, length } = bins
	const { fromMs, toMs } = fault
	const [first, last] = [Math.floor(fromMs / widthMs), Math.ceil(toMs / widthMs)]
	const during = bins.in(Math.max(0, first), Math.min(length, last)).filter((index) => {
		const at = attempts.observedAt(index) - origin
		return at >= fromMs && at <= toMs
	})
	const shows = (index: number): boolean => {
		if (fault.kind === 'errors') return attempts.outcome[index] === OUTCOME.failed
		return attempts.outcome[index] === OUTCOME.timedOut || attempts.durationMs(index) > slowMs
	}
	return {
		fault,
		attempts: during.length,
		symptoms: during.filter(shows).length,
		startsBetweenMs: [fromMs, fromMs],
		endsBetweenMs: [toMs, toMs],
		isOngoing: toMs >= length * widthMs,
		isEndHidden: false,
	}
}

/** Returns true for a range of times that matters for a replay. */
export const isWide = ([min, max]: readonly [number, number], resolutionMs: number): boolean =>
	max - min > 3 * resolutionMs

/** Rounds times to milliseconds. */
export function roundFault(fault: DetectedFault): DetectedFault {
	const fromMs = Math.round(fault.fromMs)
	const times = { fromMs, toMs: Math.max(fromMs + 1, Math.round(fault.toMs)) }
	if (fault.kind === 'slowdown') return { ...fault, ...times, factor: roundToMicroseconds(fault.factor) }
	if (fault.kind === 'errors') return { ...fault, ...times, rate: roundToMicroseconds(fault.rate) }
	return { ...fault, ...times }
}
