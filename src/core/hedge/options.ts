import type { Budget } from '../budget/budget.ts'
import { checkPolicyOptions, POLICY_SCHEMA, type PolicyOptions } from '../engine/policy-options.ts'
import { invalidOption, type OptionSchema, readOptions } from '../options/schema.ts'

/** When a second request is sent, and how many there may be. */
export interface HedgeOptions extends PolicyOptions {
	/** Send it after this long. Default: when the call takes longer than `percentile` of the latest ones did. */
	readonly delayMs?: number | undefined
	/** Which of the latest latencies is waited for, 0 to 100. Without any known, nothing is hedged. Default 95. */
	readonly percentile?: number | undefined
	/** How many requests may follow the first, each after one more delay. Default 1. */
	readonly maxHedges?: number | undefined
	/** What hedges and retries may cost in all, shared with them. Default: no budget. */
	readonly budget?: Budget | undefined
}

export interface HedgeSettings extends PolicyOptions {
	/** -1 when the percentile decides. */
	readonly delayMs: number
	readonly percentile: number
	readonly maxHedges: number
	readonly budget?: Budget | undefined
}

const HEDGE_RULES: OptionSchema = {
	delayMs: [0, 2 ** 31, -1],
	percentile: [0, 100, 95],
	maxHedges: [1, 100, 1],
	budget: 'any',
	...POLICY_SCHEMA,
}

export function readHedgeOptions(options: HedgeOptions): HedgeSettings {
	checkPolicyOptions(options, HEDGE_RULES, 'hedge')
	const settings = readOptions<HedgeSettings>(options, HEDGE_RULES)
	checkBudget(settings.budget)
	if (settings.maxHedges % 1) invalidOption('maxHedges', settings.maxHedges, 'a whole number')
	return settings
}

function checkBudget(budget: Budget | undefined): void {
	if (budget !== undefined && typeof budget?.canRetry !== 'function')
		invalidOption('budget', budget, 'a budget, such as retryBudget()')
}
