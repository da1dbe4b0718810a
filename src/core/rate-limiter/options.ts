import { checkPolicyOptions, POLICY_SCHEMA, type PolicyOptions } from '../engine/policy-options.ts'
import { invalidOption, type OptionSchema, readOptions } from '../options/schema.ts'

/** `'token-bucket'` lets a burst through and then keeps an even pace; `'sliding-window'` counts every stretch of time. */
type RateLimiterAlgorithm = 'token-bucket' | 'sliding-window'

/** How many calls may start in how long. */
export interface RateLimiterOptions extends PolicyOptions {
	/** So many calls in each `intervalMs`, a whole number. Default 10. */
	readonly limit?: number | undefined
	/** The time that `limit` is meant for, in whole milliseconds, at most a day. Default 1,000. */
	readonly intervalMs?: number | undefined
	/** How many calls may start at once after a quiet time, a whole number; a sliding window has none. Default: `limit`. */
	readonly burst?: number | undefined
	/** How the limit is kept. Default `'token-bucket'`. */
	readonly algorithm?: RateLimiterAlgorithm | undefined
	/** A call that would have to wait longer is refused; Infinity waits as long as it takes. Default 0: no call waits. */
	readonly maxWaitMs?: number | undefined
}

/** Rate limiter options after the check, with every default filled in. */
export interface RateLimiterSettings extends PolicyOptions {
	readonly limit: number
	readonly intervalMs: number
	readonly burst: number
	readonly algorithm: RateLimiterAlgorithm
	readonly maxWaitMs: number
}

const RATE_LIMITER_RULES: OptionSchema = {
	limit: [1, 1e9, 10],
	intervalMs: [1, 86_400_000, 1_000],
	// 0 stands for the limit.
	burst: [1, 1e9, 0],
	algorithm: 'any',
	maxWaitMs: [0, Infinity, 0],
	...POLICY_SCHEMA,
}

export function readRateLimiterOptions(options: RateLimiterOptions): RateLimiterSettings {
	checkPolicyOptions(options, RATE_LIMITER_RULES, 'rateLimiter')
	const settings = readOptions<RateLimiterSettings>(options, RATE_LIMITER_RULES)
	const { limit, intervalMs, burst, algorithm = 'token-bucket' } = settings
	// Fractions of a call or of a millisecond would come out a hair short in sums.
	for (const [name, value] of Object.entries({ limit, intervalMs, burst })) {
		if (value % 1) invalidOption(name, value, 'an integer')
	}
	if (algorithm !== 'token-bucket' && algorithm !== 'sliding-window')
		invalidOption('algorithm', algorithm, 'one of token-bucket, sliding-window')
	return { ...settings, burst: burst || limit, algorithm }
}
