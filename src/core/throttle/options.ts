import { checkPolicyOptions, POLICY_SCHEMA, type PolicyOptions } from '../engine/policy-options.ts'
import { type OptionSchema, readOptions } from '../options/schema.ts'

/** Options of `adaptiveThrottle`. */
export interface AdaptiveThrottleOptions extends PolicyOptions {
	/** The number of calls sent per accepted call, 1 or more; a lower value rejects sooner. Default 2. */
	readonly k?: number | undefined
	/** The window over which calls are counted, in ten buckets. At most a day. Default 120,000. */
	readonly windowMs?: number | undefined
}

const THROTTLE_SCHEMA: OptionSchema = {
	// Below 1, calls would be rejected although all are accepted.
	k: [1, 1e6, 2],
	windowMs: [1, 86_400_000, 120_000],
	...POLICY_SCHEMA,
}

/** Validates the options and fills in the defaults. */
export function readThrottleOptions(options: AdaptiveThrottleOptions): {
	readonly k: number
	readonly windowMs: number
} {
	checkPolicyOptions(options, THROTTLE_SCHEMA, 'adaptiveThrottle')
	return readOptions(options, THROTTLE_SCHEMA)
}
