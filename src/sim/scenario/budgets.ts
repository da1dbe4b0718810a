/** Budgets as data. */
import type { Budget } from '../../core/budget/budget.ts'
import { QuotaBudget, type QuotaBudgetOptions } from '../../core/budget/quota-budget.ts'
import { RetryBudget, type RetryBudgetOptions } from '../../core/budget/retry-budget.ts'
import { TokenBudget, type TokenBudgetOptions } from '../../core/budget/token-budget.ts'
import { invalidOption } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { flag, located, oneOf } from './shape.ts'

/** A budget as data. `shared`: all instances of a client use one budget. By default each instance has its own. */
export type BudgetModel = { readonly shared?: boolean | undefined } & (
	| ({ readonly kind?: 'ratio' | undefined } & Omit<RetryBudgetOptions, 'runtime'>)
	| ({ readonly kind: 'tokens' } & Omit<TokenBudgetOptions, 'runtime'>)
	| ({ readonly kind: 'quota' } & Omit<QuotaBudgetOptions, 'runtime'>)
)

/** The factory of each kind, for printing a policy as TypeScript. */
export const BUDGET_FACTORIES = { ratio: 'retryBudget', tokens: 'tokenBudget', quota: 'quotaBudget' } as const

export function createBudget(model: BudgetModel, path: string, runtime: Runtime): Budget {
	if (Object(model) !== model || Array.isArray(model))
		invalidOption(path, model, 'budget options such as { maxRetryRatio: 0.1 }')
	const { shared = false, kind = 'ratio', ...options } = model
	flag(shared, `${path}.shared`)
	oneOf(...Object.keys(BUDGET_FACTORIES))(kind, `${path}.kind`)
	return located(path, () => {
		if (kind === 'tokens') return new TokenBudget(options as TokenBudgetOptions)
		if (kind === 'quota') return new QuotaBudget(options as QuotaBudgetOptions)
		return new RetryBudget({ ...(options as RetryBudgetOptions), runtime })
	})
}
