/**
 * Retries as a share of the calls in a time window, with a minimum for low traffic. The share is computed in
 * integer millionths: in floating point, 0.1 added ten times is less than 1, and the tenth call would not
 * earn its retry. Tokens that calls add and retries remove would be shorter, but they outlive the traffic
 * that earned them.
 */

import { withOptionPath } from '../options/option-path.ts'
import type { OptionSchema } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { systemRuntime } from '../runtime/system.ts'
import { TimeWindow } from '../structures/time-window.ts'
import { type Budget, type BudgetOptions, type BudgetSettings, readBudget } from './budget.ts'

/** Options of `retryBudget` and of `new RetryBudget`. */
export interface RetryBudgetOptions extends BudgetOptions {
	/** Retries per call, 0 to 10, with up to six decimals. Default 0.1: one retry for every ten calls. */
	readonly maxRetryRatio?: number | undefined
	/** The window over which calls and retries are counted, in ten buckets. At most a day. Default 10,000. */
	readonly windowMs?: number | undefined
	/** Retries that are always allowed, per second of the window. Default 10. */
	readonly minRetriesPerSecond?: number | undefined
}

/** What a retry budget has counted in its window. Read it from `stats` of a `RetryBudget`. */
export interface RetryBudgetStats {
	readonly requests: number
	readonly retries: number
	/** The number of retries that are allowed now. */
	readonly available: number
}

export const RETRY_BUDGET_SCHEMA: OptionSchema = {
	maxRetryRatio: [0, 10, 0.1],
	windowMs: [1, 86_400_000, 10_000],
	minRetriesPerSecond: [0, 1e6, 10],
}

const REQUESTS = 0
const RETRIES = 1

/** Returns `ratio * count`, rounded down, without the rounding error of the ratio. */
const takeShare = (ratio: number, count: number): number =>
	Math.floor((Math.round(ratio * 1e6) * count) / 1e6)

/**
 * A budget that allows retries up to a share of the calls or up to a number per second, whichever is greater.
 * `retryBudget()` creates it too. Share one as `budget` between all policies that call the same service.
 *
 * @example
 * const budget = new RetryBudget({ maxRetryRatio: 0.1, windowMs: 10_000, minRetriesPerSecond: 10 })
 * const policy = retry({ maxRetries: 3, budget })
 */
export class RetryBudget implements Budget {
	readonly #runtime: Runtime
	readonly #window: TimeWindow
	/** @internal */
	settings: BudgetSettings<RetryBudgetOptions>

	constructor(options: RetryBudgetOptions = {}) {
		this.settings = readBudget(options, RETRY_BUDGET_SCHEMA, 'retryBudget')
		this.#runtime = options.runtime ?? systemRuntime
		this.#window = new TimeWindow(this.settings.windowMs, 2)
	}

	recordRequest(now: number = this.#runtime.now()): void {
		this.#window.add(now, REQUESTS)
	}

	canRetry(now?: number): boolean {
		return this.available(now) > 0
	}

	recordRetry(now: number = this.#runtime.now()): void {
		this.#window.add(now, RETRIES)
	}

	recordOutcome(): void {
		// Only calls and retries count, not how they end.
	}

	available(now: number = this.#runtime.now()): number {
		const { maxRetryRatio, windowMs, minRetriesPerSecond } = this.settings
		const earned = takeShare(maxRetryRatio, this.#window.sum(now, REQUESTS))
		const minimum = Math.floor(takeShare(minRetriesPerSecond, windowMs) / 1_000)
		return Math.max(0, Math.max(earned, minimum) - this.#window.sum(now, RETRIES))
	}

	get stats(): RetryBudgetStats {
		const now = this.#runtime.now()
		return {
			requests: this.#window.sum(now, REQUESTS),
			retries: this.#window.sum(now, RETRIES),
			available: this.available(now),
		}
	}

	/** Changes the given options; the others keep their values, and so do the counts. */
	update(options: Omit<RetryBudgetOptions, 'runtime'>, now: number = this.#runtime.now()): void {
		this.settings = readBudget(options, RETRY_BUDGET_SCHEMA, 'retryBudget', this.settings)
		this.#window.resize(now, this.settings.windowMs)
	}
}

/**
 * Creates a budget that allows retries up to a share of the calls, for all policies that share it.
 *
 * @example
 * const policy = retry({ budget: retryBudget({ maxRetryRatio: 0.2 }) })
 */
export function retryBudget(options?: RetryBudgetOptions): RetryBudget {
	return new RetryBudget(options)
}

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
