/**
 * Other scenarios that the events allow. A log may not show when a fault ended, or how much the service can process; one scenario would pass
 * for the truth. A policy that is run in all of them has a range of results.
 */
import type { DetectedFault, FoundFault } from './detect/detect-faults.ts'
import type { Fit, IncidentFit } from './fit/fit-incident.ts'
import { isWide } from './found-faults.ts'

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
