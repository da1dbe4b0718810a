/** Budgets as data. */
import type { Budget } from '../../core/budget/budget.ts'
import { QuotaBudget, type QuotaBudgetOptions } from '../../core/budget/quota-budget.ts'
import { RetryBudget, type RetryBudgetOptions } from '../../core/budget/retry-budget.ts'
import { TokenBudget, type TokenBudgetOptions } from '../../core/budget/token-budget.ts'
import { withOptionPath } from '../../core/options/option-path.ts'
import { invalidOption } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { flag, oneOf } from './shape.ts'

/** A budget as data. `shared`: all instances of a client use one budget. By default each instance has its own. */
export type BudgetModel = { readonly shared?: boolean | undefined } & (
	| ({ readonly kind?: 'ratio' | undefined } & Omit<RetryBudgetOptions, 'runtime'>)
	| ({ readonly kind: 'tokens' } & Omit<TokenBudgetOptions, 'runtime'>)
	| ({ readonly kind: 'quota' } & Omit<QuotaBudgetOptions, 'runtime'>)
)

/** The factory of each kind, for printing a policy as TypeScript. */
export const BUDGET_FACTORIES = { ratio: 'retryBudget', tokens: 'tokenBudget', quota: 'quotaBudget' } as const

export function createBudget(model: BudgetModel, runtime: Runtime): Budget {
	if (Object(model) !== model || Array.isArray(model))
		invalidOption('budget', model, 'budget options such as { maxRetryRatio: 0.1 }')
	const { shared = false, kind = 'ratio', ...options } = model
	flag(shared, 'budget.shared')
	oneOf(...Object.keys(BUDGET_FACTORIES))(kind, 'budget.kind')
	return withOptionPath('budget', () => {
		if (kind === 'tokens') return new TokenBudget(options as TokenBudgetOptions)
		if (kind === 'quota') return new QuotaBudget(options as QuotaBudgetOptions)
		return new RetryBudget({ ...(options as RetryBudgetOptions), runtime })
	})
}
