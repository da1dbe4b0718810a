/**
 * Retries as a share of the calls of the last seconds, with a floor for quiet times. The share is counted in whole
 * millionths: with fractions, 0.1 added ten times is less than 1, and the tenth call would not earn its retry. Tokens that
 * are put in and taken out would be shorter, but whole windows of them outlive the traffic that earned them.
 */
import type { OptionSchema } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { systemRuntime } from '../runtime/system.ts'
import { TimeWindow } from '../structures/time-window.ts'
import { type Budget, type BudgetOptions, type BudgetSettings, readBudget } from './budget.ts'

/** How many retries there may be. */
export interface RetryBudgetOptions extends BudgetOptions {
	/** Retries for each call, 0 to 10, to six decimals. Default 0.1: one retry for ten calls. */
	readonly maxRetryRatio?: number | undefined
	/** Calls and retries are counted over so long; they leave in tenths of it. At most a day. Default 10,000. */
	readonly windowMs?: number | undefined
	/** Retries that are allowed however few calls there are, for each second of the window. Default 10. */
	readonly minRetriesPerSecond?: number | undefined
}

/** What a retry budget has counted in its window. */
export interface RetryBudgetStats {
	readonly requests: number
	readonly retries: number
	/** How many retries could be made now. */
	readonly available: number
}

export const RULES: OptionSchema = {
	maxRetryRatio: [0, 10, 0.1],
	windowMs: [1, 86_400_000, 10_000],
	minRetriesPerSecond: [0, 1e6, 10],
}

const REQUESTS = 0
const RETRIES = 1

/** So many of `count` as a share of millionths gives, exactly. */
const share = (ratio: number, count: number): number => Math.floor((Math.round(ratio * 1e6) * count) / 1e6)

/**
 * A share of the calls may be repeated, or so many a second, whichever is greater. Share one between all that call the same
 * service.
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
		this.settings = readBudget(options, RULES)
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
		// It counts what is sent. How that ended is for the next call's retry to find out.
	}

	available(now: number = this.#runtime.now()): number {
		const { maxRetryRatio, windowMs, minRetriesPerSecond } = this.settings
		const earned = share(maxRetryRatio, this.#window.sum(now, REQUESTS))
		const floor = Math.floor(share(minRetriesPerSecond, windowMs) / 1_000)
		return Math.max(0, Math.max(earned, floor) - this.#window.sum(now, RETRIES))
	}

	get stats(): RetryBudgetStats {
		const now = this.#runtime.now()
		return {
			requests: this.#window.sum(now, REQUESTS),
			retries: this.#window.sum(now, RETRIES),
			available: this.available(now),
		}
	}

	/** Other settings from now on; what is left out stays as it is, and so does what has been counted. */
	update(options: Omit<RetryBudgetOptions, 'runtime'>, now: number = this.#runtime.now()): void {
		this.settings = readBudget(options, RULES, this.settings)
		this.#window.resize(now, this.settings.windowMs)
	}
}

/**
 * A retry budget: `new RetryBudget(options)`.
 *
 * @example
 * const policy = retry({ budget: retryBudget({ maxRetryRatio: 0.2 }) })
 */
export function retryBudget(options?: RetryBudgetOptions): RetryBudget {
	return new RetryBudget(options)
}
