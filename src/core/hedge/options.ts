import { type Budget, checkBudget } from '../budget/budget.ts'
import { POLICY_SCHEMA, type PolicyOptions, readPolicyOptions } from '../engine/policy-options.ts'
import type { Filled, OptionSchema } from '../options/schema.ts'

/** Options of `hedge`: when a second request is sent, and how many there may be. */
export interface HedgeOptions extends PolicyOptions {
	/** The delay before a hedge. Default: the `percentile` of recent latencies. */
	readonly delayMs?: number | undefined
	/**
	 * The latency percentile after which a hedge is sent, 0 to 100. Without known latencies nothing is hedged.
	 * Default 95.
	 */
	readonly percentile?: number | undefined
	/** The maximum number of hedges per call. Each is sent one delay after the one before it. Default 1. */
	readonly maxHedges?: number | undefined
	/** Limits hedges and retries that share it. Default: no budget. */
	readonly budget?: Budget | undefined
}

export type HedgeSettings = Filled<HedgeOptions>

const HEDGE_SCHEMA: OptionSchema = {
	// -1: the percentile decides.
	delayMs: [0, 2 ** 31, -1],
	percentile: [0, 100, 95],
	maxHedges: [1, 100, 1, 'integer'],
	budget: 'any',
	...POLICY_SCHEMA,
}

export function readHedgeOptions(options: HedgeOptions): HedgeSettings {
	const settings = readPolicyOptions<HedgeSettings>(options, 'hedge', HEDGE_SCHEMA)
	checkBudget(settings.budget)
	return settings
}
