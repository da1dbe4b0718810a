import { POLICY_SCHEMA, type PolicyOptions, readPolicyOptions } from '../engine/policy-options.ts'
import { type Filled, MAX_NUMBER, type OptionSchema } from '../options/schema.ts'

/** Options of `adaptiveThrottle`. */
export interface AdaptiveThrottleOptions extends PolicyOptions {
	/** The number of calls sent per accepted call, 1 or more; a lower value rejects sooner. Default 2. */
	readonly k?: number | undefined
	/** The window over which calls are counted, in ten buckets. At most a day. Default 120,000. */
	readonly windowMs?: number | undefined
	/**
	 * The greatest share of calls that is rejected, from 0 to 1. The rest tests whether the dependency has
	 * recovered, so a lower value recovers sooner and sends more calls to a dependency that is down. Default
	 * 0.9.
	 */
	readonly maxRejectionRate?: number | undefined
	/** The minimum number of calls in the window before one is rejected, an integer. Default 10. */
	readonly minimumRequests?: number | undefined
}

export type ThrottleSettings = Filled<AdaptiveThrottleOptions>

const THROTTLE_SCHEMA: OptionSchema = {
	// Below 1, calls would be rejected although all are accepted.
	k: [1, 1e6, 2],
	windowMs: [1, 86_400_000, 120_000],
	maxRejectionRate: [0, 1, 0.9],
	minimumRequests: [1, MAX_NUMBER, 10, 'integer'],
	...POLICY_SCHEMA,
}

export function readThrottleOptions(options: AdaptiveThrottleOptions): ThrottleSettings {
	return readPolicyOptions(options, 'adaptiveThrottle', THROTTLE_SCHEMA)
}
