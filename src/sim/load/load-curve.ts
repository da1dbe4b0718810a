/**
 * Turns measured rates into arrivals. Time 0 of the curve is the first value. A missing value is not a rate
 * of 0: monitoring systems lose values when they restart, and a simulated silence followed by full load would
 * be a fault that did not happen. So gaps are interpolated and reported, unless `gaps: 'zero'` says that no
 * value means no load.
 */
import { invalidArgument } from '../../core/options/schema.ts'
import type { ArrivalCurve, RatePoint } from '../scenario/arrivals-model.ts'
import { amount, fields, flag, oneOf, type Shape } from '../scenario/shape.ts'

/** How measured rates become a curve. */
export interface LoadCurveOptions {
	/** Multiplies all rates. Default 1. */
	readonly scale?: number | undefined
	/** Repeats the curve when it ends, for example the same day again. Default false: the last rate holds. */
	readonly repeat?: boolean | undefined
	/** `'interpolate'` connects the values around a gap; `'zero'` means that there was no load. Default `'interpolate'`. */
	readonly gaps?: 'interpolate' | 'zero' | undefined
	/** `'steps'` holds each rate until the next value. Default `'linear'`; `'steps'` for counts, which it keeps exactly. */
	readonly interpolation?: 'linear' | 'steps' | undefined
}

/** Returns a check of these options and of the options of all load curves. */
export function optionsCheck(own: Readonly<Record<string, Shape>>): (options: unknown) => void {
	const shape = fields({
		...own,
		'scale?': amount(1e-9, 1e9),
		'repeat?': flag,
		'gaps?': oneOf('interpolate', 'zero'),
		'interpolation?': oneOf('linear', 'steps'),
	})
	return (options) => shape(options, '')
}

/**
 * Arrivals for a client, and what they were read from. `loadCurveFromCsv` and `loadCurveFromPrometheus`
 * return it; use its `arrivals` in a `ClientModel`.
 */
export interface LoadCurve {
	readonly arrivals: ArrivalCurve
	readonly summary: LoadCurveSummary
}

/** What was read. Times of gaps are those of the curve, which starts at 0. */
interface LoadCurveSummary {
	/** What was read as what, for people: columns and units, or the number of series. */
	readonly source: string
	/** The time of the first value in ISO 8601; null if the times are not dates. */
	readonly startsAt: string | null
	/** From the first value to one interval after the last. */
	readonly lengthMs: number
	/** Median distance of two values. */
	readonly intervalMs: number
	/** The number of values. */
	readonly values: number
	/** Values that were empty, not a number, or absent from one of several series. */
	readonly missing: number
	/** Stretches without any value, longer than one and a half intervals. */
	readonly gaps: readonly { readonly fromMs: number; readonly toMs: number }[]
	/** Mean, lowest and highest value, after scaling. */
	readonly meanPerSecond: number
	readonly minPerSecond: number
	readonly maxPerSecond: number
}

/** Times from here on are dates, in milliseconds: the year 1973. */
const FIRST_DATE = 1e11

/** Values further apart than this, in intervals, have a gap between them. */
const GAP = 1.5

/** Returns the median distance of consecutive times. */
export function medianInterval(times: readonly number[]): number {
	const distances = times.slice(1).map((at, index) => at - (times[index] ?? 0))
	return distances.sort((a, b) => a - b)[Math.floor(distances.length / 2)] ?? 0
}

export const isGap = (distanceMs: number, intervalMs: number): boolean => distanceMs > GAP * intervalMs

/** Builds the curve from values with ascending times. */
export function buildLoadCurve(
	values: readonly RatePoint[],
	{ scale = 1, repeat = false, gaps: onGap = 'interpolate', interpolation = 'linear' }: LoadCurveOptions,
	read: { readonly source: string; readonly missing: number },
): LoadCurve {
	const [first, last] = [values[0], values.at(-1)]
	if (!first || !last || values.length < 2)
		invalidArgument('values', values.length, 'at least two values, to know how far apart they are')
	if (values.every(({ perSecond }) => perSecond === 0))
		invalidArgument('values', 0, 'at least one value above 0')
	const intervalMs = medianInterval(values.map(({ atMs }) => atMs))
	const points = values.map(({ atMs, perSecond }) => ({
		atMs: atMs - first.atMs,
		perSecond: perSecond * scale,
	}))
	const gaps = points.slice(1).flatMap(({ atMs: toMs }, index) => {
		const fromMs = points[index]?.atMs ?? 0
		return isGap(toMs - fromMs, intervalMs) ? [{ fromMs, toMs }] : []
	})
	const rates = points.map(({ perSecond }) => perSecond)
	const lengthMs = last.atMs - first.atMs + intervalMs
	return {
		arrivals: {
			kind: 'curve',
			points: onGap === 'zero' ? withSilence(points, intervalMs) : points,
			interpolation,
			...(repeat && { repeatEveryMs: lengthMs }),
		},
		summary: {
			...read,
			startsAt: first.atMs >= FIRST_DATE ? new Date(first.atMs).toISOString() : null,
			lengthMs,
			intervalMs,
			values: values.length,
			gaps,
			meanPerSecond: rates.reduce((sum, rate) => sum + rate, 0) / rates.length,
			minPerSecond: rates.reduce((least, rate) => Math.min(least, rate), Infinity),
			maxPerSecond: rates.reduce((most, rate) => Math.max(most, rate), 0),
		},
	}
}

/** Inserts a rate of 0 into each gap. The last value before it holds for one interval. */
const withSilence = (points: readonly RatePoint[], intervalMs: number): readonly RatePoint[] =>
	points.flatMap((point, index) => {
		const next = points[index + 1]
		if (!next || !isGap(next.atMs - point.atMs, intervalMs)) return [point]
		const endMs = point.atMs + intervalMs
		return [point, { ...point, atMs: endMs }, { atMs: endMs, perSecond: 0 }, { ...next, perSecond: 0 }]
	})
