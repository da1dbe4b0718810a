/**
 * How long the service takes when it is well. That must be known before it can be said when it was slow, and the slow times must be
 * known before it can be said how long it takes; so it is first looked for in the quicker stretches, and later taken from all that is
 * not slow.
 */
import type { AttemptBins } from './attempt-bins.ts'
import { GrowableArray, quantile } from './growable-array.ts'

/** With fewer durations than this a median says little. */
const FEWEST = 50

/** A stretch is quick whose median is at most so many times that of the quickest quarter. */
const QUICK = 1.5

/** So many values of the law are kept: a million would draw no better. */
const MOST_VALUES = 2_000

export interface Pace {
	readonly medianMs: number
	readonly meanMs: number
	/** An answer that takes longer is slow. One in five does when all is well, or fewer. */
	readonly slowMs: number
}

/** Undefined when no duration is known. */
export function estimatePace(bins: AttemptBins): Pace | undefined {
	const stretches = stretchesOf(bins)
	const medians = Float64Array.from(stretches, (sorted) => quantile(sorted, 0.5)).sort()
	const usual = quantile(medians, 0.25)
	const quick = new GrowableArray()
	for (const sorted of stretches)
		if (quantile(sorted, 0.5) <= QUICK * usual) for (const value of sorted) quick.add(value)
	if (quick.length === 0) return undefined
	const sorted = quick.sorted()
	const medianMs = quantile(sorted, 0.5)
	return { medianMs, meanMs: meanOf(sorted), slowMs: Math.max(1.5 * medianMs, quantile(sorted, 0.8)) }
}

const meanOf = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** The durations of answers in stretches of whole bins that have enough of them, each sorted. */
function stretchesOf(bins: AttemptBins): readonly Float64Array[] {
	const stretches: Float64Array[] = []
	let durations = new GrowableArray()
	for (let bin = 0; bin < bins.length; bin++) {
		for (const index of bins.in(bin, bin + 1))
			if (bins.attempts.isTimed(index)) durations.add(bins.attempts.durationMs(index))
		if (durations.length < FEWEST && bin < bins.length - 1) continue
		if (durations.length > 0) stretches.push(durations.sorted())
		durations = new GrowableArray()
	}
	return stretches
}

/** The law as values to draw from, smallest first: all of them, or as many quantiles as tell them. */
export function sampleDistribution(sorted: Float64Array): readonly number[] {
	if (sorted.length <= MOST_VALUES) return Array.from(sorted, roundToMicroseconds)
	return Array.from({ length: MOST_VALUES }, (_, index) =>
		roundToMicroseconds(quantile(sorted, (index + 0.5) / MOST_VALUES)),
	)
}

/** Microseconds are what clocks can tell. */
export const roundToMicroseconds = (ms: number): number => Math.round(ms * 1_000) / 1_000
