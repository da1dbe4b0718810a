/**
 * Budgets keep retries from becoming the load that keeps a service down. A limit per call cannot do that:
 * when all calls fail, three retries each are four times the traffic. A budget is shared by many calls and
 * knows their sum. It is an interface and not one class with modes, so that a bundle contains only the budget
 * that is used.
 */
import { safeGet } from '../classify/safe-get.ts'
import type { Call } from '../engine/call.ts'
import { readPolicyOptions } from '../engine/policy-options.ts'
import { invalidOption, mergeOptions, type OptionSchema, readOptions } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { CallFact } from '../structures/call-fact.ts'

/**
 * Decides whether a retry or a hedge may repeat a call. `retryBudget` and `tokenBudget` create one; pass it
 * as `budget` to `retry`, `hedge` or a client. `now` is always in monotonic milliseconds; by default it comes
 * from the budget's own runtime.
 *
 * @example
 * const budget: Budget = retryBudget({ maxRetryRatio: 0.2 })
 * const users = retry({ budget })
 * const orders = retry({ budget })
 */
export interface Budget {
	/** Counts a call. Policies call it once per call, however many layers share the budget. */
	recordRequest(now?: number): void
	/** Returns true if one more retry is allowed. Changes nothing. `isTimeout`: the failure was a timeout. */
	canRetry(now?: number, isTimeout?: boolean): boolean
	/** Counts a retry or a hedge. */
	recordRetry(now?: number, isTimeout?: boolean): void
	/**
	 * Counts the end of an attempt. `chargedFor`: the cause of the latest retry of this call; undefined if the
	 * call was not retried.
	 */
	recordOutcome(ok: boolean, chargedFor?: 'timeout' | 'failure'): void
	/** Returns the number of retries that are allowed now. */
	available(now?: number): number
}

/** Options that all budgets share. */
export interface BudgetOptions {
	/** The clock of a budget that counts over a window. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

/** Validated options of a budget, with every default filled in. */
export type BudgetSettings<Options> = { readonly [Name in Exclude<keyof Options, 'runtime'>]-?: number }

/** Validates the options of the budget `owner`. With `settings`, the options are changes to them. */
export function readBudget<Settings>(
	options: object,
	schema: OptionSchema,
	owner: string,
	settings?: Settings,
): Settings {
	// The counts belong to the clock they were made with, so an update cannot replace the runtime.
	readPolicyOptions(options, owner, settings ? schema : { ...schema, runtime: 'any' })
	return readOptions(settings ? mergeOptions({ ...settings }, options) : options, schema)
}

/** The budgets that have recorded a call. */
const deposits: CallFact<Budget[]> = new CallFact()

/** Counts a call in the budget once, even if several layers or nested calls share the budget. */
export function recordRequestOnce(call: Call, budget: Budget, runtime: Runtime): void {
	let root = call
	for (let outer: Call | undefined = call; outer; outer = outer.rare?.branch?.parent ?? outer.parentCall)
		root = outer
	const recorded = deposits.of(root)
	if (recorded?.includes(budget)) return
	// A literal, because the first push allocates space for 17.
	if (recorded) recorded.push(budget)
	else deposits.set(root, [budget])
	budget.recordRequest(call.now(runtime))
}

/** Throws unless the value is a budget or undefined. */
export function checkBudget(budget: Budget | undefined): void {
	if (budget !== undefined && typeof budget?.canRetry !== 'function')
		invalidOption('budget', budget, 'a budget, such as retryBudget()')
}

/** Some budgets charge more for a retry after a timeout, because the first attempt may still be running. */
export const isTimeout = (error: unknown): boolean =>
	safeGet(error, 'name') === 'TimeoutError' || safeGet(error, 'code') === 'ETIMEDOUT'
