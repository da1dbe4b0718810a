/**
 * What went wrong and when. Symptoms are looked for one after the other, each over all of the time: attempts that fail, attempts that are
 * slow or have no answer and, where the others come as usual, attempts that have none. What each means is then said by what is found in
 * its span.
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
import { at } from './growable-array.ts'
import { explainByLoad } from './overload.ts'
import { estimatePace } from './service-time.ts'

/** Shares of attempts that fail. Below about one in fifty all is taken to be calm. */
const FAILING = [0.005, 0.05, 0.12, 0.25, 0.4, 0.6, 0.8, 0.95, 0.998]

/** Shares of attempts that are slow: one in five is, or nearly, when all is well. */
const SLOW = [0.22, 0.4, 0.55, 0.7, 0.85, 0.95, 0.998]

/** A share of failures that is there most of the time is no incident, if it is no greater. */
const USUAL = 0.1

export interface Schedule {
	readonly found: readonly FoundFault[]
	/** Durations of answers outside of slow spans, smallest first. */
	readonly serviceTimes: Float64Array
	/** Failures outside of all faults, as a share of the attempts there. */
	readonly background: number
	/** Attempts that were slow or hung because of the load. */
	readonly explained: number
}

export function detectFaults(bins: AttemptBins, workers: number): Schedule {
	const { attempts } = bins
	const pace = estimatePace(bins)
	if (pace && workers < Infinity) explainByLoad(attempts, pace, workers)
	const { outcome, isExplained } = attempts
	const failing = findFaultWindows(bins, (index) => outcome[index] === OUTCOME.failed, FAILING)
	const failed = withoutUsual(failing.shares, failing.spans)
	const isDownFor = masked(bins, failed.filter(isDown))
	const isSlow: Symptom = (index) => {
		// Where nobody gets through, the few that hang are of the same outage.
		if (outcome[index] === OUTCOME.failed || isDownFor[index]) return undefined
		if (outcome[index] === OUTCOME.answered && !attempts.isTimed(index)) return undefined
		if (isExplained[index]) return false
		return outcome[index] === OUTCOME.hung || attempts.durationMs(index) > (pace?.slowMs ?? Infinity)
	}
	const slow = findFaultWindows(bins, isSlow, SLOW).spans
	const isSlowAt = marked(bins, slow, 1)
	const well = durationsIn(bins, (bin) => !isSlowAt[bin])
	const serviceTimes = well.length > 0 ? well : durationsIn(bins, () => true)
	const slowed = slow.flatMap((span) => {
		const found = faultFromSlowness(span, bins, serviceTimes)
		return found ? [{ span, found }] : []
	})
	const isSlowFor = masked(
		bins,
		slowed.map(({ span }) => span),
	)
	const isSilent: Symptom = (index) => {
		if (isSlowFor[index] || isDownFor[index]) return undefined
		return outcome[index] === OUTCOME.hung && !isExplained[index]
	}
	const silent = findFaultWindows(bins, isSilent, FAILING).spans
	const found = [
		...failed.map((span) => faultFromFailures(span, bins, pace)),
		...slowed.map((one) => one.found),
		...silent.map(faultFromTimeouts),
	]
	return {
		found: found.sort(({ fault: a }, { fault: b }) => a.fromMs - b.fromMs || a.toMs - b.toMs),
		serviceTimes,
		background: shareOutside(failing.shares, marked(bins, failed, 1)),
		explained: isExplained.reduce((sum, one) => sum + one, 0),
	}
}

/** 1 for each bin of the spans, and for so many to either side, where a span may reach without a bin of its own. */
function marked(bins: AttemptBins, spans: readonly FaultWindow[], margin = 0): Uint8Array {
	const marks = new Uint8Array(bins.length)
	for (const { from, to } of spans) marks.fill(1, Math.max(0, from - margin), to + margin)
	return marks
}

/** 1 for each attempt of the spans. */
function masked(bins: AttemptBins, spans: readonly FaultWindow[]): Uint8Array {
	const mask = new Uint8Array(bins.attempts.length)
	for (const span of spans) for (const index of attemptsIn(span, bins)) mask[index] = 1
	return mask
}

function withoutUsual({ attempts }: SymptomCounts, spans: readonly FaultWindow[]): readonly FaultWindow[] {
	const seen = attempts.reduce((sum, number) => sum + (number > 0 ? 1 : 0), 0)
	const isUsual = ({ level }: FaultWindow) => {
		const bins = spans.reduce((sum, span) => sum + (span.level === level ? span.to - span.from : 0), 0)
		return bins > seen / 2
	}
	return spans.filter((span) => span.share >= USUAL || !isUsual(span))
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
