/**
 * Finds faults. Symptoms are searched one after the other, each over the whole time: attempts that fail, attempts that are slow or
 * time out, and timeouts while other responses are normal. The attempts during a symptom then decide which fault it is.
 */
import type { AttemptBins, Symptom } from './attempt-bins.ts'
import { OUTCOME } from './attempt-outcome.ts'
import type { SymptomCounts } from './change-points.ts'
import { attemptsIn, type FaultWindow, findFaultWindows } from './fault-windows.ts'
import {
	durationsIn,
	type FoundFault,
	faultFromFailures,
	faultFromSlowness,
	faultFromTimeouts,
	isDown,
} from './faults.ts'
import { at } from './numbers.ts'
import { estimatePace, explainByLoad } from './service-time.ts'

/** Levels for the share of failed attempts. Below about 2 % is normal. */
const FAILURE_LEVELS = [0.005, 0.05, 0.12, 0.25, 0.4, 0.6, 0.8, 0.95, 0.998]

/** Levels for the share of slow attempts. Normally up to 20 % are slow. */
const SLOW_LEVELS = [0.22, 0.4, 0.55, 0.7, 0.85, 0.95, 0.998]

/** A smaller share of failures that lasts for most of the time is normal for the service, not a fault. */
const MAX_BACKGROUND = 0.1

interface Detection {
	readonly faults: readonly FoundFault[]
	/** Durations of responses outside of slow periods, in ascending order. */
	readonly serviceTimes: Float64Array
	/** The share of attempts that failed outside of all faults. */
	readonly backgroundErrorRate: number
	/** Attempts that were slow or timed out because of the load. */
	readonly explainedByLoad: number
}

export function detectFaults(bins: AttemptBins, workers: number): Detection {
	const { attempts } = bins
	const pace = estimatePace(bins)
	if (pace && workers < Infinity) explainByLoad(attempts, pace, workers)
	const { outcome, isExplained } = attempts
	const failures = findFaultWindows(bins, (index) => outcome[index] === OUTCOME.failed, FAILURE_LEVELS)
	const failed = withoutBackground(failures.counts, failures.windows)
	const isDuringOutage = markAttempts(bins, failed.filter(isDown))
	const isSlow: Symptom = (index) => {
		// While all attempts fail, the few that time out belong to the same outage.
		if (outcome[index] === OUTCOME.failed || isDuringOutage[index]) return undefined
		if (outcome[index] === OUTCOME.responded && !attempts.isTimed(index)) return undefined
		if (isExplained[index]) return false
		return outcome[index] === OUTCOME.timedOut || attempts.durationMs(index) > (pace?.slowMs ?? Infinity)
	}
	const slow = findFaultWindows(bins, isSlow, SLOW_LEVELS).windows
	const isSlowBin = markBins(bins, slow, 1)
	const normal = durationsIn(bins, (bin) => !isSlowBin[bin])
	const serviceTimes = normal.length > 0 ? normal : durationsIn(bins, () => true)
	const slowed = slow.flatMap((window) => {
		const found = faultFromSlowness(window, bins, serviceTimes)
		return found ? [{ window, found }] : []
	})
	const isDuringSlowdown = markAttempts(
		bins,
		slowed.map(({ window }) => window),
	)
	const isSilent: Symptom = (index) => {
		if (isDuringSlowdown[index] || isDuringOutage[index]) return undefined
		return outcome[index] === OUTCOME.timedOut && !isExplained[index]
	}
	const silent = findFaultWindows(bins, isSilent, FAILURE_LEVELS).windows
	const faults = [
		...failed.map((window) => faultFromFailures(window, bins, pace)),
		...slowed.map(({ found }) => found),
		...silent.map(faultFromTimeouts),
	]
	return {
		faults: faults.sort(({ fault: a }, { fault: b }) => a.fromMs - b.fromMs || a.toMs - b.toMs),
		serviceTimes,
		backgroundErrorRate: shareOutside(failures.counts, markBins(bins, failed, 1)),
		explainedByLoad: isExplained.reduce((sum, one) => sum + one, 0),
	}
}

/** Returns 1 for each bin of the windows, and for `margin` bins on either side, into which a window may extend. */
function markBins(bins: AttemptBins, windows: readonly FaultWindow[], margin: number): Uint8Array {
	const marks = new Uint8Array(bins.length)
	for (const { from, to } of windows) marks.fill(1, Math.max(0, from - margin), to + margin)
	return marks
}

/** Returns 1 for each attempt in the windows. */
function markAttempts(bins: AttemptBins, windows: readonly FaultWindow[]): Uint8Array {
	const marks = new Uint8Array(bins.attempts.length)
	for (const window of windows) for (const index of attemptsIn(window, bins)) marks[index] = 1
	return marks
}

/** Removes windows with few failures whose level lasts for more than half of the time. */
function withoutBackground(
	{ attempts }: SymptomCounts,
	windows: readonly FaultWindow[],
): readonly FaultWindow[] {
	const used = attempts.reduce((sum, count) => sum + (count > 0 ? 1 : 0), 0)
	const isBackground = ({ level }: FaultWindow) => {
		const bins = windows.reduce((sum, other) => sum + (other.level === level ? other.to - other.from : 0), 0)
		return bins > used / 2
	}
	return windows.filter((window) => window.share >= MAX_BACKGROUND || !isBackground(window))
}

function shareOutside({ attempts, symptoms }: SymptomCounts, marks: Uint8Array): number {
	let [all, shown] = [0, 0]
	for (const [bin, mark] of marks.entries()) {
		if (mark) continue
		all += at(attempts, bin)
		shown += at(symptoms, bin)
	}
	return all > 0 ? shown / all : 0
}
