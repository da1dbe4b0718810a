/**
 * Finds faults. Symptoms are searched one after the other, each over the whole time: attempts that fail,
 * attempts that are slow or time out, and timeouts while other responses are normal. The attempts during a
 * symptom then decide which fault it is.
 *
 * Whether load explains a symptom is not decided here: a queue has no symptoms of its own. What is detected
 * is what the replay needs if the service has no limit; `fit` then explains as much of it as possible by a
 * queue.
 */
import type { Fault } from '../../scenario/scenario.ts'
import { OUTCOME } from '../log/attempt-outcome.ts'
import type { AttemptBins, Symptom, SymptomCounts } from '../log/attempts.ts'
import { at, quantile, sorted } from '../log/numbers.ts'
import { attemptsIn, type Edge, type FaultWindow, findFaultWindows } from './fault-windows.ts'
import { estimatePace, type Pace, roundToMicroseconds } from './service-time.ts'

/** Levels for the share of failed attempts. Below about 2 % is normal. */
const FAILURE_LEVELS = [0.005, 0.05, 0.12, 0.25, 0.4, 0.6, 0.8, 0.95, 0.998]

/** Levels for the share of slow attempts. Normally up to 20 % are slow. */
const SLOW_LEVELS = [0.22, 0.4, 0.55, 0.7, 0.85, 0.95, 0.998]

/** A smaller share of failures that lasts for most of the time is normal for the service, not a fault. */
const MAX_BACKGROUND = 0.1

export interface Detection {
	readonly faults: readonly SymptomFault[]
	/** Durations of responses outside of slow periods, in ascending order. */
	readonly serviceTimes: Float64Array
	/** 1 for each bin in or next to a slow period. */
	readonly isSlowBin: Uint8Array
	readonly pace: Pace | undefined
	/** The share of attempts that failed outside of all faults. */
	readonly backgroundErrorRate: number
}

export function detectFaults(bins: AttemptBins): Detection {
	const { attempts } = bins
	const pace = estimatePace(bins)
	const { outcome } = attempts
	const failures = findFaultWindows(bins, (index) => outcome[index] === OUTCOME.failed, FAILURE_LEVELS)
	const failed = withoutBackground(failures.counts, failures.windows)
	const isDuringOutage = markAttempts(bins, failed.filter(isDown))
	const isSlow: Symptom = (index) => {
		// While all attempts fail, the few that time out belong to the same outage.
		if (outcome[index] === OUTCOME.failed || isDuringOutage[index]) return undefined
		if (outcome[index] === OUTCOME.responded && !attempts.isTimed(index)) return undefined
		return outcome[index] === OUTCOME.timedOut || attempts.durationMs(index) > (pace?.slowMs ?? Infinity)
	}
	const slow = findFaultWindows(bins, isSlow, SLOW_LEVELS).windows
	const isSlowBin = markBins(bins, slow)
	const normal = durationsIn(bins, (bin) => !isSlowBin[bin])
	const serviceTimes = normal.length > 0 ? normal : durationsIn(bins, () => true)
	const slowed = slow.flatMap((window) => {
		const found = faultFromSlowness(window, bins, serviceTimes)
		return found ? [{ window, found }] : []
	})
	const slowWindows = slowed.map(({ window }) => window)
	const isDuringSlowdown = markAttempts(bins, slowWindows)
	const isSilent: Symptom = (index) => {
		if (isDuringSlowdown[index] || isDuringOutage[index]) return undefined
		return outcome[index] === OUTCOME.timedOut
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
		isSlowBin,
		pace,
		backgroundErrorRate: shareOutside(failures.counts, markBins(bins, failed)),
	}
}

/** Returns 1 for each bin of the windows, and for one bin on either side, into which a window may extend. */
function markBins(bins: AttemptBins, windows: readonly FaultWindow[]): Uint8Array {
	const marks = new Uint8Array(bins.length)
	for (const { from, to } of windows) marks.fill(1, Math.max(0, from - 1), to + 1)
	return marks
}

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

/** The service counts as down if at least this share of the attempts show the symptom. */
const DOWN = 0.98

/** Failures faster than this share of the normal time are refused connections: no worker processed them. */
const FAST = 0.25

const MIN_FACTOR = 1.5

export type DetectedFault = Extract<Fault, { readonly kind: 'outage' | 'slowdown' | 'errors' }>

export interface FoundFault {
	readonly fault: DetectedFault
	/** The number of attempts during the fault, and how many of them show it. */
	readonly attempts: number
	readonly symptoms: number
	/** Possible ranges of its start and end, in milliseconds of the scenario. */
	readonly startsBetweenMs: readonly [number, number]
	readonly endsBetweenMs: readonly [number, number]
	/** True if it was not over when the events end. */
	readonly isOngoing: boolean
	/** True if overload followed and looks the same, so that its end is not visible. */
	readonly isEndHidden: boolean
}

/** A fault as it was detected, before it is known whether load explains it. */
export interface SymptomFault extends FoundFault {
	readonly symptom: 'failures' | 'slow' | 'timeouts'
	/** The share of failures among attempts that ended with a response or a failure. */
	readonly failedShare: number
}

const isDown = ({ share }: FaultWindow): boolean => share >= DOWN

/** Failures: an outage if all attempts fail fast, otherwise errors. */
function faultFromFailures(window: FaultWindow, bins: AttemptBins, pace: Pace | undefined): SymptomFault {
	const { attempts } = bins
	const indices = attemptsIn(window, bins)
	const failed = indices.filter((index) => attempts.outcome[index] === OUTCOME.failed)
	const responded = indices.filter((index) => attempts.outcome[index] === OUTCOME.responded).length
	const statuses = new Map<number, number>()
	for (const index of failed) {
		const status = at(attempts.status, index)
		statuses.set(status, (statuses.get(status) ?? 0) + 1)
	}
	// Attempts that were in flight when the outage began say nothing about how fast it refuses others.
	const beganAt = failed.reduce((min, index) => Math.min(min, at(attempts.endedAt, index)), Infinity)
	const later = failed.filter((index) => at(attempts.startedAt, index) >= beganAt)
	const durations = Array.from(later.length > 0 ? later : failed, (index) => attempts.durationMs(index))
	const isFast = !(quantile(sorted(durations), 0.5) > FAST * (pace?.medianMs ?? Infinity))
	const isOutage = isDown(window) && isFast
	const details = isOutage ? REFUSED : errors(window.share, mostFrequent(statuses))
	const failedShare = failed.length / Math.max(1, failed.length + responded)
	return { ...createFault(window, details), symptom: 'failures', failedShare }
}

/** Timeouts, while other responses are normal: an outage of all requests, or of a share of them. */
function faultFromTimeouts(window: FaultWindow): SymptomFault {
	const details = isDown(window) ? NO_RESPONSE : { ...NO_RESPONSE, share: roundToMicroseconds(window.share) }
	return { ...createFault(window, details), symptom: 'timeouts', failedShare: 0 }
}

/** Slow responses and timeouts: an outage if no response came, a slowdown if the responses were slow. */
function faultFromSlowness(
	window: FaultWindow,
	bins: AttemptBins,
	serviceTimes: Float64Array,
): SymptomFault | undefined {
	const { attempts } = bins
	const durations: number[] = []
	let timeouts = 0
	for (const index of attemptsIn(window, bins))
		if (attempts.outcome[index] === OUTCOME.timedOut) timeouts++
		else if (attempts.isTimed(index)) durations.push(attempts.durationMs(index))
	const respondedShare = durations.length / (durations.length + timeouts)
	const slow = { symptom: 'slow', failedShare: 0 } as const
	if (respondedShare <= 1 - DOWN) return { ...createFault(window, NO_RESPONSE), ...slow }
	// Timeouts are known to be the slowest, so the responses are compared at a rank below them.
	const rank = Math.min(0.5, respondedShare / 2)
	const factor = quantile(sorted(durations), rank / respondedShare) / quantile(serviceTimes, rank)
	if (!(factor >= MIN_FACTOR)) return undefined
	return { ...createFault(window, { kind: 'slowdown', factor: roundToMicroseconds(factor) }), ...slow }
}

function durationsIn(bins: AttemptBins, isIn: (bin: number) => boolean): Float64Array {
	const { attempts } = bins
	const durations: number[] = []
	for (let bin = 0; bin < bins.length; bin++)
		if (isIn(bin))
			for (const index of bins.in(bin, bin + 1))
				if (attempts.isTimed(index)) durations.push(attempts.durationMs(index))
	return sorted(durations)
}

type WithoutTimes<F> = F extends DetectedFault ? Omit<F, 'fromMs' | 'toMs'> : never

const NO_RESPONSE = { kind: 'outage', mode: 'hang' } as const satisfies WithoutTimes<DetectedFault>
const REFUSED = { kind: 'outage', mode: 'refuse' } as const satisfies WithoutTimes<DetectedFault>

const errors = (rate: number, status: number): WithoutTimes<DetectedFault> => ({
	kind: 'errors',
	rate: roundToMicroseconds(Math.min(1, rate)),
	...(status > 0 && { status }),
})

function createFault(
	{ starts, ends, attempts, symptoms, isOngoing }: FaultWindow,
	details: WithoutTimes<DetectedFault>,
): FoundFault {
	const fromMs = Math.round(starts.atMs)
	return {
		fault: { ...details, fromMs, toMs: Math.max(fromMs + 1, Math.round(ends.atMs)) },
		attempts,
		symptoms,
		startsBetweenMs: rangeOf(starts),
		endsBetweenMs: rangeOf(ends),
		isOngoing,
		isEndHidden: false,
	}
}

const rangeOf = ({ minMs, maxMs }: Edge): readonly [number, number] => [
	roundToMicroseconds(minMs),
	roundToMicroseconds(maxMs),
]

/** Returns the most frequent value, the smallest among equals. */
const mostFrequent = (counts: ReadonlyMap<number, number>): number =>
	[...counts].sort(([a, many], [b, most]) => most - many || a - b)[0]?.[0] ?? 0
