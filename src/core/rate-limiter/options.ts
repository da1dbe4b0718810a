import { POLICY_SCHEMA, type PolicyOptions, readPolicyOptions } from '../engine/policy-options.ts'
import type { Filled, OptionSchema } from '../options/schema.ts'

/** `'token-bucket'`: a burst, then an even rate. `'sliding-window'`: limits every interval exactly. */
type RateLimiterAlgorithm = 'token-bucket' | 'sliding-window'

/** Options of `rateLimiter`. */
export interface RateLimiterOptions extends PolicyOptions {
	/** The number of calls per `intervalMs`, an integer. Default 10. */
	readonly limit?: number | undefined
	/** The interval of `limit`, an integer, at most a day. Default 1,000. */
	readonly intervalMs?: number | undefined
	/** How many calls may start together after an idle time. Token bucket only. Default: `limit`. */
	readonly burst?: number | undefined
	/** How calls are counted. Default `'token-bucket'`. */
	readonly algorithm?: RateLimiterAlgorithm | undefined
	/** Calls that would wait longer are rejected. Default 0: no call waits. */
	readonly maxWaitMs?: number | undefined
}

export type RateLimiterSettings = Filled<RateLimiterOptions>

/** Integers, because sums of fractions have rounding errors, and one error is one call too many. */
const RATE_LIMITER_SCHEMA: OptionSchema = {
	limit: [1, 1e9, 10, 'integer'],
	intervalMs: [1, 86_400_000, 1_000, 'integer'],
	// 0 means `limit`.
	burst: [1, 1e9, 0, 'integer'],
	algorithm: ['token-bucket', 'sliding-window'],
	maxWaitMs: [0, Infinity, 0],
	...POLICY_SCHEMA,
}

export function readRateLimiterOptions(options: RateLimiterOptions): RateLimiterSettings {
	const settings = readPolicyOptions<RateLimiterSettings>(options, 'rateLimiter', RATE_LIMITER_SCHEMA)
	return { ...settings, burst: settings.burst || settings.limit }
}
