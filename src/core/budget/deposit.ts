import { safeGet } from '../classify/safe-get.ts'
import type { Call } from '../engine/call.ts'
import { invalidOption } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { CallFact } from '../structures/call-fact.ts'
import type { Budget } from './budget.ts'

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
