/**
 * Estimates the normal service time. Slow periods cannot be found without it, and it cannot be measured
 * before slow periods are excluded. So a first estimate uses only the faster periods; the final distribution
 * uses everything outside of slow periods.
 */
import type { AttemptBins } from '../log/attempts.ts'
import { quantile, sorted } from '../log/numbers.ts'

/** A median of fewer durations is unreliable. */
const MIN_SAMPLES = 50

/** A period is fast if its median is at most this many times the median of the fastest quarter. */
const MAX_RATIO = 1.5

/** Size of the sampled distribution. A million values would not draw better. */
const MAX_VALUES = 2_000

export interface Pace {
	readonly medianMs: number
	readonly meanMs: number
	/** Longer responses are slow. Normally at most one in five is. */
	readonly slowMs: number
}

/** Returns undefined if no duration is known. */
export function estimatePace(bins: AttemptBins): Pace | undefined {
	const periods = splitPeriods(bins)
	const usual = quantile(sorted(periods.map((period) => quantile(period, 0.5))), 0.25)
	const quick: number[] = []
	for (const period of periods)
		if (quantile(period, 0.5) <= MAX_RATIO * usual) for (const value of period) quick.push(value)
	if (quick.length === 0) return undefined
	const values = sorted(quick)
	const medianMs = quantile(values, 0.5)
	const meanMs = values.reduce((sum, value) => sum + value, 0) / values.length
	return { medianMs, meanMs, slowMs: Math.max(1.5 * medianMs, quantile(values, 0.8)) }
}

/** Returns sorted durations of responses, in periods of whole bins with at least MIN_SAMPLES each. */
function splitPeriods(bins: AttemptBins): readonly Float64Array[] {
	const periods: Float64Array[] = []
	let durations: number[] = []
	for (let bin = 0; bin < bins.length; bin++) {
		for (const index of bins.in(bin, bin + 1))
			if (bins.attempts.isTimed(index)) durations.push(bins.attempts.durationMs(index))
		if (durations.length < MIN_SAMPLES && bin < bins.length - 1) continue
		if (durations.length > 0) periods.push(sorted(durations))
		durations = []
	}
	return periods
}

/** Returns values to draw from, in ascending order: all of them, or evenly spaced quantiles. */
export const sampleDistribution = (values: Float64Array): readonly number[] =>
	values.length <= MAX_VALUES
		? Array.from(values, roundToMicroseconds)
		: Array.from({ length: MAX_VALUES }, (_, index) =>
				roundToMicroseconds(quantile(values, (index + 0.5) / MAX_VALUES)),
			)

/** Rounds to the resolution of clocks. */
export const roundToMicroseconds = (ms: number): number => Math.round(ms * 1_000) / 1_000
