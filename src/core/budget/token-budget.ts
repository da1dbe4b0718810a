/**
 * Retry throttling as gRPC specifies it (proposal A6): failures drain a bucket, successes refill it slowly,
 * and retries stop while it is at most half full. It counts outcomes, whereas a RetryBudget counts traffic,
 * so it needs no clock. Tokens are counted in integer thousandths, as in gRPC; with fractions, sums would
 * miss the threshold.
 */
import type { OptionSchema } from '../options/schema.ts'
import { type Budget, type BudgetOptions, type BudgetSettings, readBudget } from './budget.ts'

/** Options of `tokenBudget`. */
export interface TokenBudgetOptions extends BudgetOptions {
	/** The size of the bucket, which starts full. Above 0, at most 1,000. Default 10. */
	readonly maxTokens?: number | undefined
	/**
	 * The tokens that a success adds; a failure removes 1. Decimals after the third are dropped. Default 0.1.
	 */
	readonly tokenRatio?: number | undefined
}

/** The tokens in the bucket, and how many retries they allow. Read it from `stats` of a `TokenBudget`. */
export interface TokenBudgetStats {
	readonly tokens: number
	/** The number of retries that are allowed now if all of them fail. */
	readonly available: number
}

export const TOKEN_BUDGET_SCHEMA: OptionSchema = {
	maxTokens: [0.001, 1_000, 10],
	tokenRatio: [0.001, 1_000, 0.1],
}

/** Truncates, as gRPC specifies. The epsilon keeps 1.005, which is 1.00499... in binary, at 1,005. */
const toThousandths = (amount: number): number => Math.floor(amount * 1_000 + 1e-6)

/**
 * A retry budget as in gRPC: a failure removes a token, a success adds a part of one, and retries stop while
 * the bucket is at most half full. `tokenBudget()` creates it; pass it as `budget` to `retry` or `hedge`.
 */
export class TokenBudget implements Budget {
	#settings: BudgetSettings<TokenBudgetOptions>
	#tokens: number

	constructor(options: TokenBudgetOptions = {}) {
		this.#settings = readBudget(options, TOKEN_BUDGET_SCHEMA, 'tokenBudget')
		this.#tokens = this.#max
	}

	get #max(): number {
		return toThousandths(this.#settings.maxTokens)
	}

	recordRequest(): void {
		// Only outcomes count.
	}

	canRetry(): boolean {
		return this.available() > 0
	}

	recordRetry(): void {
		// Only outcomes count.
	}

	recordOutcome(ok: boolean): void {
		const tokens = this.#tokens + (ok ? toThousandths(this.#settings.tokenRatio) : -1_000)
		this.#tokens = Math.max(0, Math.min(this.#max, tokens))
	}

	available(): number {
		return Math.max(0, Math.ceil((2 * this.#tokens - this.#max) / 2_000))
	}

	get stats(): TokenBudgetStats {
		return { tokens: this.#tokens / 1_000, available: this.available() }
	}

	/** Changes the given options; the others keep their values. The fill level stays the same in percent. */
	update(options: Omit<TokenBudgetOptions, 'runtime'>): void {
		const before = this.#max
		this.#settings = readBudget(options, TOKEN_BUDGET_SCHEMA, 'tokenBudget', this.#settings)
		this.#tokens = Math.round((this.#tokens * this.#max) / before)
	}
}

/**
 * Creates a budget like gRPC's retry throttling: successes add tokens, failures remove them.
 *
 * @example
 * const policy = retry({ budget: tokenBudget({ maxTokens: 100, tokenRatio: 0.5 }) })
 */
export function tokenBudget(options?: TokenBudgetOptions): TokenBudget {
	return new TokenBudget(options)
}
