/** The evidence for the faults that explain a log: the attempts that show each, and the possible range of its end. */
import type { DetectedFault, FoundFault } from './detect/detect-faults.ts'
import { type Pace, roundToMicroseconds } from './detect/service-time.ts'
import type { Fit, IncidentFit } from './fit/fit-incident.ts'
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
			fault: roundFault(fault),
			isEndHidden,
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

export function roundFault(fault: DetectedFault): DetectedFault {
	const fromMs = Math.round(fault.fromMs)
	const times = { fromMs, toMs: Math.max(fromMs + 1, Math.round(fault.toMs)) }
	if (fault.kind === 'slowdown') return { ...fault, ...times, factor: roundToMicroseconds(fault.factor) }
	if (fault.kind === 'errors') return { ...fault, ...times, rate: roundToMicroseconds(fault.rate) }
	return { ...fault, ...times }
}

/** Factors and rates that differ by a smaller share are the same. */
const SAME_SHARE = 0.05

/** Returns fits that differ from the best and from each other. `found` are the faults of the best. */
export function listAlternatives(
	{ best, others }: IncidentFit,
	found: readonly FoundFault[],
	resolutionMs: number,
): readonly Fit[] {
	const distinct: Fit[] = [best]
	for (const fit of [...others, ...withUnseenEnds(best, found, resolutionMs)])
		if (!distinct.some((other) => isSame(fit, other, resolutionMs))) distinct.push(fit)
	return distinct.slice(1)
}

/** Returns the fit with each fault that ended while there were no attempts at the first and at the last possible end. */
function withUnseenEnds(fit: Fit, found: readonly FoundFault[], resolutionMs: number): readonly Fit[] {
	if (!found.some(({ endsBetweenMs }) => isWide(endsBetweenMs, resolutionMs))) return []
	return [0, 1].map((side) => ({
		...fit,
		faults: found.map(({ fault, endsBetweenMs }) => ({
			...fault,
			toMs: Math.max(fault.fromMs + 1, Math.round(endsBetweenMs[side] ?? fault.toMs)),
		})),
	}))
}

const isSame = (a: Fit, b: Fit, resolutionMs: number): boolean =>
	a.workers === b.workers &&
	a.faults.length === b.faults.length &&
	a.faults.every((fault, index) => isSameFault(fault, b.faults[index], resolutionMs))

function isSameFault(a: DetectedFault, b: DetectedFault | undefined, resolutionMs: number): boolean {
	return (
		a.kind === b?.kind &&
		Math.abs(a.fromMs - b.fromMs) < resolutionMs &&
		Math.abs(a.toMs - b.toMs) < resolutionMs &&
		Math.abs(sizeOf(a) / sizeOf(b) - 1) < SAME_SHARE
	)
}

const sizeOf = (fault: DetectedFault): number => {
	if (fault.kind === 'slowdown') return fault.factor
	if (fault.kind === 'errors') return Math.max(0.001, fault.rate)
	return Math.max(0.001, fault.share ?? 1) * (fault.mode === 'hang' ? 1 : 2)
}
