/**
 * Inverts the integral of a rate that changes over time: call n starts when the integral reaches the n-th
 * point of a Poisson process of rate 1. This is exact and takes one draw per call. Thinning, the usual
 * alternative, draws at the highest rate and discards, so that a change of the curve at noon would change the
 * calls of the morning. Between two points the rate is linear, its integral a parabola, and the inverse needs
 * only a square root, which is the same on every engine.
 */
import type { ArrivalCurve, RatePoint } from '../scenario/arrivals-model.ts'

/** A stretch with a linear rate. `area` is the integral of the rate: calls per second times milliseconds. */
interface Segment {
	readonly fromMs: number
	readonly lengthMs: number
	readonly rate: number
	readonly slope: number
	readonly area: number
}

export class RateCurve {
	readonly #segments: readonly Segment[]
	/** Infinity without repetition. */
	readonly #periodMs: number
	readonly #periodArea: number
	#repetitions = 0
	#index = 0
	/** The area used in the current segment. */
	#used = 0

	constructor(model: Omit<ArrivalCurve, 'kind'>) {
		const { points, interpolation = 'linear', repeatEveryMs = Infinity, fromMs = 0 } = model
		this.#periodMs = repeatEveryMs
		const all = repeatEveryMs < Infinity ? closePeriod(points, repeatEveryMs) : extend(points)
		this.#segments = all.slice(1).flatMap((to, index) => {
			const from = all[index] as RatePoint
			const end = interpolation === 'linear' ? to.perSecond : from.perSecond
			return createSegment(from, to.atMs, end, repeatEveryMs)
		})
		const area = this.#segments.reduce((sum, segment) => sum + segment.area, 0)
		this.#periodArea = repeatEveryMs < Infinity ? area : Infinity
		this.#skipTo(fromMs)
	}

	/** Moves on until this many more calls are due, and returns the time; Infinity if it never comes. */
	next(calls: number): number {
		// A rate above 0 only at single points, not between them.
		if (this.#periodArea === 0) return Infinity
		// Skips whole periods: a curve with a low rate and a short period would otherwise loop for long.
		const periods = Math.floor((calls * 1_000) / this.#periodArea)
		this.#repetitions += periods
		this.#used += periods > 0 ? Math.max(0, calls * 1_000 - periods * this.#periodArea) : calls * 1_000
		for (;;) {
			const segment = this.#segments[this.#index]
			if (!segment) {
				if (this.#periodMs === Infinity) return Infinity
				this.#index = 0
				this.#repetitions++
			} else if (this.#used >= segment.area) {
				this.#used -= segment.area
				this.#index++
			} else return this.#startMs + segment.fromMs + timeFor(segment, this.#used)
		}
	}

	get #startMs(): number {
		return this.#repetitions === 0 ? 0 : this.#repetitions * this.#periodMs
	}

	#skipTo(ms: number): void {
		this.#repetitions = Math.floor(ms / this.#periodMs)
		const inPeriod = ms - this.#startMs
		this.#index = Math.max(
			0,
			this.#segments.findLastIndex(({ fromMs }) => fromMs <= inPeriod),
		)
		const segment = this.#segments[this.#index]
		if (!segment) return
		const into = inPeriod - segment.fromMs
		this.#used = into * (segment.rate + (segment.slope * into) / 2)
	}
}

/** Returns no segment if it would have no length, or lies outside of the period. */
function createSegment(
	{ atMs, perSecond }: RatePoint,
	endMs: number,
	endRate: number,
	periodMs: number,
): Segment[] {
	const lengthMs = endMs - atMs
	if (lengthMs === 0) return []
	const slope = (endRate - perSecond) / lengthMs
	const fromMs = Math.max(0, atMs)
	const toMs = Math.min(endMs, periodMs)
	if (toMs <= fromMs) return []
	const rate = perSecond + slope * (fromMs - atMs)
	// The last stretch is infinitely long, and 0 * Infinity is not a number.
	const last = slope === 0 ? rate : perSecond + slope * (toMs - atMs)
	const area = rate === 0 && last === 0 ? 0 : ((rate + last) / 2) * (toMs - fromMs)
	return [{ fromMs, lengthMs: toMs - fromMs, rate, slope, area }]
}

/** Returns the time in a segment at which the integral reaches `area`. This form of the solution does not cancel digits. */
function timeFor({ rate, slope, lengthMs }: Segment, area: number): number {
	if (area === 0) return 0
	const end = Math.sqrt(Math.max(0, rate * rate + 2 * slope * area))
	return Math.min(lengthMs, (2 * area) / (rate + end))
}

/** The first rate holds from 0 on, and the last for ever. */
const extend = (points: readonly RatePoint[]): readonly RatePoint[] => [
	{ atMs: 0, perSecond: points[0]?.perSecond ?? 0 },
	...points,
	{ atMs: Infinity, perSecond: points.at(-1)?.perSecond ?? 0 },
]

/** The last point of the period before, and the first of the period after. */
const closePeriod = (points: readonly RatePoint[], periodMs: number): readonly RatePoint[] => [
	{ atMs: (points.at(-1)?.atMs ?? 0) - periodMs, perSecond: points.at(-1)?.perSecond ?? 0 },
	...points,
	{ atMs: (points[0]?.atMs ?? 0) + periodMs, perSecond: points[0]?.perSecond ?? 0 },
]
