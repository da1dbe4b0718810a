/** Turns a period with a symptom into a fault of the scenario. */
import type { Fault } from '../scenario/scenario.ts'
import type { AttemptBins } from './attempt-bins.ts'
import { OUTCOME } from './attempt-outcome.ts'
import { attemptsIn, type Edge, type FaultWindow } from './fault-windows.ts'
import { at, quantile, sorted } from './numbers.ts'
import { type Pace, roundToMicroseconds } from './service-time.ts'

/** From this share of symptoms on the service counts as down. */
const DOWN = 0.98

/** Failures faster than this share of the normal time are refused connections: no worker processed them. */
const FAST = 0.25

/** Smaller slowdowns are not reported. */
const MIN_FACTOR = 1.5

/** The status of responses that never came, while most others were normal. */
const GATEWAY_TIMEOUT = 504

/** A fault, with its evidence. */
export interface FoundFault {
	readonly fault: Fault
	/** Attempts during the fault, and those of them that show it. */
	readonly attempts: number
	readonly symptoms: number
	/** Possible ranges of its start and end, in milliseconds of the scenario. */
	readonly startsBetween: readonly [number, number]
	readonly endsBetween: readonly [number, number]
	/** True if it was not over when the events end. */
	readonly isOngoing: boolean
}

export const isDown = ({ share }: FaultWindow): boolean => share >= DOWN

/** Failures: an outage if all attempts fail fast, otherwise errors. */
export function faultFromFailures(
	window: FaultWindow,
	bins: AttemptBins,
	pace: Pace | undefined,
): FoundFault {
	const { attempts } = bins
	const durations: number[] = []
	const statuses = new Map<number, number>()
	for (const index of attemptsIn(window, bins).filter((one) => attempts.outcome[one] === OUTCOME.failed)) {
		durations.push(attempts.durationMs(index))
		const status = at(attempts.status, index)
		statuses.set(status, (statuses.get(status) ?? 0) + 1)
	}
	const isFast = !(quantile(sorted(durations), 0.5) > FAST * (pace?.medianMs ?? Infinity))
	if (isDown(window) && isFast)
		return createFault(window, (times) => ({ kind: 'outage', mode: 'refuse', ...times }))
	return createFault(window, (times) => errors(window.share, mostFrequent(statuses), times))
}

/** Timeouts, while other responses are normal: an outage if all attempts time out, otherwise errors. */
export const faultFromTimeouts = (window: FaultWindow): FoundFault =>
	createFault(window, (times) =>
		isDown(window)
			? { kind: 'outage', mode: 'hang', ...times }
			: errors(window.share, GATEWAY_TIMEOUT, times),
	)

/** Slow responses and timeouts: an outage if no response came, a slowdown if the responses were slow. */
export function faultFromSlowness(
	window: FaultWindow,
	bins: AttemptBins,
	serviceTimes: Float64Array,
): FoundFault | undefined {
	const { attempts } = bins
	const durations: number[] = []
	let timeouts = 0
	const isUnexplained = (index: number) =>
		!attempts.isExplained[index] && (attempts.outcome[index] === OUTCOME.timedOut || attempts.isTimed(index))
	for (const index of attemptsIn(window, bins).filter(isUnexplained))
		if (attempts.outcome[index] === OUTCOME.timedOut) timeouts++
		else durations.push(attempts.durationMs(index))
	const respondedShare = durations.length / (durations.length + timeouts)
	if (respondedShare <= 1 - DOWN)
		return createFault(window, (times) => ({ kind: 'outage', mode: 'hang', ...times }))
	// Timeouts are known to be the slowest, so the responses are compared at a rank below them.
	const rank = Math.min(0.5, respondedShare / 2)
	const factor = quantile(sorted(durations), rank / respondedShare) / quantile(serviceTimes, rank)
	if (!(factor >= MIN_FACTOR)) return undefined
	return createFault(window, (times) => ({ kind: 'slowdown', factor: roundToMicroseconds(factor), ...times }))
}

/** Returns the sorted durations of responses in these bins, without those that the load explains. */
export function durationsIn(bins: AttemptBins, isIn: (bin: number) => boolean): Float64Array {
	const { attempts } = bins
	const durations: number[] = []
	for (let bin = 0; bin < bins.length; bin++)
		if (isIn(bin))
			for (const index of bins.in(bin, bin + 1))
				if (attempts.isTimed(index) && !attempts.isExplained[index])
					durations.push(attempts.durationMs(index))
	return sorted(durations)
}

interface Times {
	readonly fromMs: number
	readonly toMs: number
}

const errors = (rate: number, status: number, times: Times): Fault => ({
	kind: 'errors',
	rate: roundToMicroseconds(Math.min(1, rate)),
	...(status > 0 ? { status } : {}),
	...times,
})

function createFault(
	{ starts, ends, attempts, symptoms, isOngoing }: FaultWindow,
	fault: (times: Times) => Fault,
): FoundFault {
	const fromMs = Math.round(starts.atMs)
	return {
		fault: fault({ fromMs, toMs: Math.max(fromMs + 1, Math.round(ends.atMs)) }),
		attempts,
		symptoms,
		startsBetween: rangeOf(starts),
		endsBetween: rangeOf(ends),
		isOngoing,
	}
}

const rangeOf = ({ minMs, maxMs }: Edge): readonly [number, number] => [
	roundToMicroseconds(minMs),
	roundToMicroseconds(maxMs),
]

/** Returns the most frequent value, the smallest among equals. */
const mostFrequent = (counts: ReadonlyMap<number, number>): number =>
	[...counts].sort(([a, many], [b, most]) => most - many || a - b)[0]?.[0] ?? 0
