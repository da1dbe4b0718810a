import { checkPolicyOptions, POLICY_SCHEMA, type PolicyOptions } from '../engine/policy-options.ts'
import { type OptionSchema, readOptions } from '../options/schema.ts'

/** How soon calls are refused on this side when the other side accepts too few. */
export interface AdaptiveThrottleOptions extends PolicyOptions {
	/** So many calls are sent for each that is accepted; 1 refuses soonest. 1 or more. Default 2. */
	readonly k?: number | undefined
	/** Calls are counted over so long; they leave in tenths of it. At most a day. Default 120,000. */
	readonly windowMs?: number | undefined
}

/** Throttle options after the check, with every default filled in. */
export interface ThrottleSettings extends PolicyOptions {
	readonly k: number
	readonly windowMs: number
}

const THROTTLE_SCHEMA: OptionSchema = {
	// Below 1, calls would be refused though every one is accepted.
	k: [1, 1e6, 2],
	windowMs: [1, 86_400_000, 120_000],
	...POLICY_SCHEMA,
}

export function readThrottleOptions(options: AdaptiveThrottleOptions): ThrottleSettings {
	checkPolicyOptions(options, THROTTLE_SCHEMA, 'adaptiveThrottle')
	return readOptions(options, THROTTLE_SCHEMA)
}
