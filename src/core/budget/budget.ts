/**
 * What keeps retries from becoming the load that keeps a service down. A count of retries for each call can not: when all
 * calls fail, three retries each are four times the traffic. A budget is shared by many calls and knows their sum. It is an
 * interface and not one class with modes, so that nobody pays for the arithmetic of the two others.
 */
import { checkPolicyOptions } from '../engine/policy-options.ts'
import { mergeOptions, type OptionSchema, readOptions } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'

/**
 * What a retry or a hedge asks before it repeats a call. Every `now` is monotonic milliseconds; left out, the budget's own
 * runtime tells it.
 *
 * @example
 * const budget: Budget = retryBudget({ maxRetryRatio: 0.2 })
 * const users = retry({ budget })
 * const orders = retry({ budget })
 */
export interface Budget {
	/** Once per logical call. */
	recordRequest(now?: number): void
	/** May one more call be repeated? Changes nothing. `isTimeout`: the failure was a timeout. */
	canRetry(now?: number, isTimeout?: boolean): boolean
	/** A call is repeated. */
	recordRetry(now?: number, isTimeout?: boolean): void
	/** An attempt ended. `paid`: what this call's latest retry was for, undefined when it was not repeated. */
	recordOutcome(ok: boolean, paid?: 'timeout' | 'failure'): void
	/** How many retries could be made now. */
	available(now?: number): number
}

/** What every budget takes. */
export interface BudgetOptions {
	/** Time, for a budget that counts over a window; the others never ask it. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

/** A budget's options after the check, with every default filled in. */
export type BudgetSettings<Options> = { readonly [Name in Exclude<keyof Options, 'runtime'>]-?: number }

/** `settings` with `options` in their place, checked; where there are none yet, the defaults. */
export function readBudget<Settings>(options: object, rules: OptionSchema, settings?: Settings): Settings {
	// Counts are on the clock that they were made with, so that one can not be replaced.
	checkPolicyOptions(options, settings ? rules : { ...rules, runtime: 'any' })
	return readOptions(settings ? mergeOptions({ ...settings }, options) : options, rules)
}
