/**
 * The retry quota of the AWS SDKs' standard mode: a retry takes its cost from a quota, and the success of the
 * retry gives it back. When a service recovers, its retries are available again immediately; with a window,
 * callers would wait until it has passed. Timeouts cost more, because they occupy a connection and a caller
 * the whole time. All amounts are integers, so that sums do not drift.
 */

import { type Budget, type BudgetOptions, type BudgetSettings, readBudget } from '../../core/budget/budget.ts'
import type { OptionSchema } from '../../core/options/schema.ts'

/** Options of a budget of the kind `'quota'` in a scenario. All are integers. */
export interface QuotaBudgetOptions extends BudgetOptions {
	/** The size of the quota. Default 500. */
	readonly capacity?: number | undefined
	/** The cost of a retry. Default 5. */
	readonly retryCost?: number | undefined
	/** The cost of a retry after a timeout. Default 10. */
	readonly timeoutCost?: number | undefined
	/** The amount that a success without a retry adds. Default 1. */
	readonly successRefund?: number | undefined
}

/** The state of a quota budget. */
export interface QuotaBudgetStats {
	readonly left: number
	/** The number of retries that are allowed now, at `retryCost` each. */
	readonly available: number
}

export const QUOTA_BUDGET_SCHEMA: OptionSchema = {
	capacity: [0, 1e9, 500, 'integer'],
	retryCost: [1, 1e9, 5, 'integer'],
	timeoutCost: [1, 1e9, 10, 'integer'],
	successRefund: [0, 1e9, 1, 'integer'],
}

/** A budget that takes the cost of a retry from a quota, and refunds it if the retry succeeds. */
export class QuotaBudget implements Budget {
	readonly #settings: BudgetSettings<QuotaBudgetOptions>
	#left: number

	constructor(options: QuotaBudgetOptions = {}) {
		this.#settings = readBudget(options, QUOTA_BUDGET_SCHEMA, 'quota')
		this.#left = this.#settings.capacity
	}

	recordRequest(): void {
		// Only retries have a cost.
	}

	canRetry(_now?: number, isTimeout?: boolean): boolean {
		return this.#left >= this.#cost(isTimeout)
	}

	recordRetry(_now?: number, isTimeout?: boolean): void {
		this.#add(-this.#cost(isTimeout))
	}

	recordOutcome(ok: boolean, chargedFor?: 'timeout' | 'failure'): void {
		if (ok) this.#add(chargedFor ? this.#cost(chargedFor === 'timeout') : this.#settings.successRefund)
	}

	available(): number {
		return Math.floor(this.#left / this.#settings.retryCost)
	}

	get stats(): QuotaBudgetStats {
		return { left: this.#left, available: this.available() }
	}

	#cost(isTimeout: boolean | undefined): number {
		return isTimeout ? this.#settings.timeoutCost : this.#settings.retryCost
	}

	#add(amount: number): void {
		this.#left = Math.max(0, Math.min(this.#settings.capacity, this.#left + amount))
	}
}
