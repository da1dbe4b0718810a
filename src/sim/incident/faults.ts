/** What a span with a symptom means, as a fault of a scenario. */
import type { Fault } from '../scenario/scenario.ts'
import type { AttemptBins } from './attempt-bins.ts'
import { OUTCOME } from './attempt-outcome.ts'
import { attemptsIn, type Edge, type FaultWindow } from './fault-windows.ts'
import { at, GrowableArray, quantile } from './growable-array.ts'
import { type Pace, roundToMicroseconds } from './service-time.ts'

/** Nearly none got through. */
const DOWN = 0.98

/** A failure that takes less of the usual time is a refusal, for no worker had it. */
const QUICK = 0.25

/** A service that takes less than so many times as long is as it was. */
const LEAST_FACTOR = 1.5

/** What an answer that never came is, where most others come as usual. */
const GATEWAY_TIMEOUT = 504

/** A fault, and what it was seen by. */
export interface FoundFault {
	readonly fault: Fault
	/** Attempts in its span, and those of them that show it. */
	readonly attempts: number
	readonly symptoms: number
	/** The ranges that its begin and its end lie in, in milliseconds of the scenario. */
	readonly startsBetween: readonly [number, number]
	readonly endsBetween: readonly [number, number]
	/** The events ended before it did. */
	readonly isOngoing: boolean
}

/** Did nobody get through? */
export const isDown = ({ share }: FaultWindow): boolean => share >= DOWN

/** Attempts fail: an outage when all do, and at once. */
export function faultFromFailures(span: FaultWindow, bins: AttemptBins, pace: Pace | undefined): FoundFault {
	const { attempts } = bins
	const took = new GrowableArray()
	const statuses = new Map<number, number>()
	for (const index of attemptsIn(span, bins).filter((one) => attempts.outcome[one] === OUTCOME.failed)) {
		took.add(attempts.durationMs(index))
		const status = at(attempts.status, index)
		statuses.set(status, (statuses.get(status) ?? 0) + 1)
	}
	const isQuick = !(quantile(took.sorted(), 0.5) > QUICK * (pace?.medianMs ?? Infinity))
	if (isDown(span) && isQuick) return found(span, (times) => ({ kind: 'outage', mode: 'refuse', ...times }))
	return found(span, (times) => errors(span.share, mostOf(statuses), times))
}

/** Answers do not come, and those that do come as usual: an outage when none does. */
export const faultFromTimeouts = (span: FaultWindow): FoundFault =>
	found(span, (times) =>
		isDown(span) ? { kind: 'outage', mode: 'hang', ...times } : errors(span.share, GATEWAY_TIMEOUT, times),
	)

/** Answers are slow or do not come: an outage when none does, and a slowdown when those that come are slow. */
export function faultFromSlowness(
	span: FaultWindow,
	bins: AttemptBins,
	serviceTimes: Float64Array,
): FoundFault | undefined {
	const { attempts } = bins
	const took = new GrowableArray()
	let hung = 0
	const isOwn = (index: number) =>
		!attempts.isExplained[index] && (attempts.outcome[index] === OUTCOME.hung || attempts.isTimed(index))
	for (const index of attemptsIn(span, bins).filter(isOwn))
		if (attempts.outcome[index] === OUTCOME.hung) hung++
		else took.add(attempts.durationMs(index))
	const answered = took.length / (took.length + hung)
	if (answered <= 1 - DOWN) return found(span, (times) => ({ kind: 'outage', mode: 'hang', ...times }))
	// Of those that hang it is only known that they are the slowest: the others are compared rank by rank.
	const rank = Math.min(0.5, answered / 2)
	const factor = quantile(took.sorted(), rank / answered) / quantile(serviceTimes, rank)
	if (!(factor >= LEAST_FACTOR)) return undefined
	return found(span, (times) => ({ kind: 'slowdown', factor: roundToMicroseconds(factor), ...times }))
}

/** The known durations of answers in these bins, smallest first. Those that the load made slow are not the service's own. */
export function durationsIn(bins: AttemptBins, isIn: (bin: number) => boolean): Float64Array {
	const { attempts } = bins
	const durations = new GrowableArray()
	for (let bin = 0; bin < bins.length; bin++)
		if (isIn(bin))
			for (const index of bins.in(bin, bin + 1))
				if (attempts.isTimed(index) && !attempts.isExplained[index]) durations.add(attempts.durationMs(index))
	return durations.sorted()
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

function found(
	{ begins, ends, attempts, symptoms, isOpen: isOngoing }: FaultWindow,
	fault: (times: Times) => Fault,
): FoundFault {
	const fromMs = Math.round(begins.atMs)
	return {
		fault: fault({ fromMs, toMs: Math.max(fromMs + 1, Math.round(ends.atMs)) }),
		attempts,
		symptoms,
		startsBetween: rangeOf(begins),
		endsBetween: rangeOf(ends),
		isOngoing,
	}
}

const rangeOf = ({ minMs, maxMs }: Edge): readonly [number, number] => [
	roundToMicroseconds(minMs),
	roundToMicroseconds(maxMs),
]

/** The most frequent, and of several the smallest. */
const mostOf = (counts: ReadonlyMap<number, number>): number =>
	[...counts].sort(([a, many], [b, most]) => most - many || a - b)[0]?.[0] ?? 0
