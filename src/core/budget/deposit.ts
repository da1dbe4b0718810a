import { safeGet } from '../classify/safe-get.ts'
import type { Call } from '../engine/call.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Budget } from './budget.ts'

/** Tells a budget of a logical call once, however many layers share the budget and however deep calls are nested. */
export function depositOnce(call: Call, budget: Budget, runtime: Runtime): void {
	let whole = call
	for (let outer: Call | undefined = call; outer; outer = outer.rare?.branchOf ?? outer.parentCall)
		whole = outer
	const { rareState } = whole
	rareState.deposits ??= []
	if (rareState.deposits.includes(budget)) return
	rareState.deposits.push(budget)
	budget.recordRequest(call.now(runtime))
}

/** Some budgets charge more for a retry after a timeout, since the first call may still be at work. */
export const isTimeout = (error: unknown): boolean =>
	safeGet(error, 'name') === 'TimeoutError' || safeGet(error, 'code') === 'ETIMEDOUT'
