/** When the calls of a client start: plain data, by `kind`. */
import type { Distribution } from '../kernel/distribution.ts'

/** When calls start: `arrivals` of a `ClientModel`. */
export type Arrivals =
	/** At random, at a mean rate, regardless of earlier calls. */
	| ({ readonly kind: 'poisson'; readonly perSecond: number } & Window)
	/** At equal intervals. */
	| ({ readonly kind: 'constant'; readonly perSecond: number } & Window)
	| ArrivalCurve
	| ArrivalBursts
	/** At these times, in ascending order. */
	| { readonly kind: 'trace'; readonly atMs: readonly number[] }
	/** Users that each wait for the result, think, and call again. */
	| {
			readonly kind: 'closed'
			readonly users: number
			/** Time between a result and the next call. Default 0. */
			readonly thinkMs?: Distribution | undefined
			/** Users start evenly spread over this time. Default 0: all at the same time. */
			readonly startWithinMs?: number | undefined
			/** Calls per user. Default: no limit. */
			readonly callsEach?: number | undefined
	  }

/**
 * At a rate that changes over time: ramps, steps, the curve of a day. The first rate holds before the first
 * point, the last rate after the last.
 *
 * @example
 * const rampUp: Arrivals = { kind: 'curve', points: [{ atMs: 0, perSecond: 10 }, { atMs: 60_000, perSecond: 500 }] }
 */
export interface ArrivalCurve extends Window {
	readonly kind: 'curve'
	/** Rates, with times in ascending order. Two points at the same time are a jump. */
	readonly points: readonly RatePoint[]
	/** `'linear'` connects the points; with `'steps'` each rate holds until the next point. Default `'linear'`. */
	readonly interpolation?: 'linear' | 'steps' | undefined
	/** Repeats the curve with this period; the last point leads to the first of the next period. Default: no repetition. */
	readonly repeatEveryMs?: number | undefined
	/** `'random'`: a Poisson process of this rate. `'even'`: each call when the curve adds up to one more. Default `'random'`. */
	readonly spacing?: 'random' | 'even' | undefined
}

/** A rate at a time. */
export interface RatePoint {
	readonly atMs: number
	readonly perSecond: number
}

/**
 * At random, at a rate that jumps between a normal and a higher value, for random lengths of time: a
 * Markov-modulated Poisson process. For bursts at fixed times, use a curve with `interpolation: 'steps'` and
 * `repeatEveryMs`.
 */
export interface ArrivalBursts extends Window {
	readonly kind: 'bursts'
	/** The rate between bursts. */
	readonly perSecond: number
	/** The rate during a burst. */
	readonly burstPerSecond: number
	/** Mean time from the start of a burst to the start of the next. */
	readonly everyMs: number
	/** Mean length of a burst. The lengths of bursts and of the times between are exponentially distributed. */
	readonly lastsMs: number
}

/** The part of the run in which calls start. */
interface Window {
	/** Default 0. */
	readonly fromMs?: number | undefined
	/** Default: the end of the run. */
	readonly toMs?: number | undefined
}
