export type NamedGrowth = 'exponential' | 'linear' | 'constant' | 'fibonacci'

/** A named curve, a list in milliseconds whose last value repeats, or a function of the attempt (from 0). */
export type BackoffGrowth = NamedGrowth | readonly number[] | ((attempt: number) => number)

/** How a delay is randomized. Use it as `jitterStrategy` of everything that retries, such as `retry`. The guide has the formula of each. */
export type JitterStrategy =
	| 'none'
	| 'full'
	| 'equal'
	| 'decorrelated'
	| 'decorrelated-aws'
	| 'proportional'
	| 'additive'

/** Validated backoff options, with every default filled in. */
export interface BackoffSettings {
	readonly baseDelayMs: number
	readonly maxDelayMs: number
	readonly factor: number
	readonly jitterFactor: number
	readonly jitterRangeMs: number
	readonly maxRetries: number
	/** Infinity if there is no limit. */
	readonly maxElapsedMs: number
	readonly growth: BackoffGrowth
	readonly jitterStrategy: JitterStrategy
}
