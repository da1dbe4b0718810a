/**
 * The retry quota of the AWS SDKs' standard mode: a purse that retries pay from, and that is paid back when they were of
 * use. A service that recovers gets its retries back at once, where a window would make callers wait for it to pass.
 * Timeouts cost more, for they hold a connection and a caller for as long as they last. All amounts are whole, so that no
 * sum drifts.
 */
import { invalidOption, type OptionSchema } from '../options/schema.ts'
import { type Budget, type BudgetOptions, type BudgetSettings, readBudget } from './budget.ts'

/** What retries cost. */
export interface QuotaBudgetOptions extends BudgetOptions {
	/** What there is to spend, a whole number. Default 500. */
	readonly capacity?: number | undefined
	/** What a retry takes, a whole number. Default 5. */
	readonly retryCost?: number | undefined
	/** What a retry after a timeout takes, a whole number. Default 10. */
	readonly timeoutCost?: number | undefined
	/** What a success gives that needed no retry, a whole number. Default 1. */
	readonly successRefund?: number | undefined
}

/** What is left of the quota. */
export interface QuotaBudgetStats {
	readonly left: number
	/** How many retries could be made now, at the cost of a failure that is not a timeout. */
	readonly available: number
}

export const RULES: OptionSchema = {
	capacity: [0, 1e9, 500],
	retryCost: [1, 1e9, 5],
	timeoutCost: [1, 1e9, 10],
	successRefund: [0, 1e9, 1],
}

type Settings = BudgetSettings<QuotaBudgetOptions>

function readQuota(options: QuotaBudgetOptions, before?: Settings): Settings {
	const settings = readBudget<Settings>(options, RULES, before)
	for (const [name, value] of Object.entries(settings)) {
		if (value % 1) invalidOption(name, value, 'an integer')
	}
	return settings
}

/**
 * A retry takes its cost out of a quota, and a success after it gives that back.
 *
 * @example
 * const budget = new QuotaBudget({ capacity: 500, retryCost: 5, timeoutCost: 10 })
 * const policy = retry({ budget })
 */
export class QuotaBudget implements Budget {
	#settings: Settings
	#left: number

	constructor(options: QuotaBudgetOptions = {}) {
		this.#settings = readQuota(options)
		this.#left = this.#settings.capacity
	}

	recordRequest(): void {
		// Only retries cost anything.
	}

	canRetry(_now?: number, isTimeout?: boolean): boolean {
		return this.#left >= this.#cost(isTimeout)
	}

	recordRetry(_now?: number, isTimeout?: boolean): void {
		this.#put(-this.#cost(isTimeout))
	}

	recordOutcome(ok: boolean, paid?: 'timeout' | 'failure'): void {
		if (ok) this.#put(paid ? this.#cost(paid === 'timeout') : this.#settings.successRefund)
	}

	available(): number {
		return Math.floor(this.#left / this.#settings.retryCost)
	}

	get stats(): QuotaBudgetStats {
		return { left: this.#left, available: this.available() }
	}

	/** Other settings from now on; what is left out stays as it is, and what has been spent stays spent. */
	update(options: Omit<QuotaBudgetOptions, 'runtime'>): void {
		const before = this.#settings
		this.#settings = readQuota(options, before)
		this.#put(this.#settings.capacity - before.capacity)
	}

	#cost(isTimeout: boolean | undefined): number {
		return isTimeout ? this.#settings.timeoutCost : this.#settings.retryCost
	}

	#put(amount: number): void {
		this.#left = Math.max(0, Math.min(this.#settings.capacity, this.#left + amount))
	}
}

/**
 * An AWS-style budget: `new QuotaBudget(options)`.
 *
 * @example
 * const policy = retry({ budget: quotaBudget({ capacity: 100 }) })
 */
export function quotaBudget(options?: QuotaBudgetOptions): QuotaBudget {
	return new QuotaBudget(options)
}
