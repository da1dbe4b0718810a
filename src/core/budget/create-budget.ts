import { withOptionPath } from '../options/option-path.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Budget } from './budget.ts'
import { RetryBudget, type RetryBudgetOptions } from './retry-budget.ts'

/** Returns the budget, or a retry budget with these options. */
export function createBudget(
	given: Budget | RetryBudgetOptions | undefined,
	runtime: Runtime,
): Budget | undefined {
	if (!given) return undefined
	return isBudget(given) ? given : withOptionPath('budget', () => new RetryBudget({ runtime, ...given }))
}

const isBudget = (given: Budget | RetryBudgetOptions): given is Budget =>
	typeof (given as Budget).canRetry === 'function'
