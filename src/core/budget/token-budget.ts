/**
 * Retry throttling as gRPC specifies it (proposal A6): failures drain a bucket, successes fill it slowly, and retries stop
 * while it is half empty or worse. It looks at outcomes where a RetryBudget looks at traffic, so it needs no clock. Tokens
 * are counted in whole thousandths, as gRPC does; fractions would end beside the threshold.
 */
import type { OptionSchema } from '../options/schema.ts'
import { type Budget, type BudgetOptions, type BudgetSettings, readBudget } from './budget.ts'

/** How many failures a service is forgiven. */
export interface TokenBudgetOptions extends BudgetOptions {
	/** What the bucket holds, and begins with. Above 0, at most 1,000. Default 10. */
	readonly maxTokens?: number | undefined
	/** What a success puts in; a failure takes 1. Decimals after the third are dropped. Default 0.1. */
	readonly tokenRatio?: number | undefined
}

/** What is in the bucket. */
export interface TokenBudgetStats {
	readonly tokens: number
	/** How many retries could be made now if all of them failed. */
	readonly available: number
}

export const RULES: OptionSchema = {
	maxTokens: [0.001, 1_000, 10],
	tokenRatio: [0.001, 1_000, 0.1],
}

/** Cut off and not rounded, as gRPC asks; the hair keeps 1.005, which is 1.00499... in binary, at 1,005. */
const thousandths = (amount: number): number => Math.floor(amount * 1_000 + 1e-6)

/**
 * Retries are allowed while the bucket is more than half full.
 *
 * @example
 * const budget = new TokenBudget({ maxTokens: 10, tokenRatio: 0.1 })
 * const policy = retry({ budget })
 */
export class TokenBudget implements Budget {
	#max: number
	#ratio: number
	#tokens: number
	#settings: BudgetSettings<TokenBudgetOptions>

	constructor(options: TokenBudgetOptions = {}) {
		this.#settings = readBudget(options, RULES)
		this.#max = this.#tokens = thousandths(this.#settings.maxTokens)
		this.#ratio = thousandths(this.#settings.tokenRatio)
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
		this.#tokens = ok ? Math.min(this.#max, this.#tokens + this.#ratio) : Math.max(0, this.#tokens - 1_000)
	}

	available(): number {
		return Math.max(0, Math.ceil((2 * this.#tokens - this.#max) / 2_000))
	}

	get stats(): TokenBudgetStats {
		return { tokens: this.#tokens / 1_000, available: this.available() }
	}

	/** Other settings from now on; what is left out stays as it is. The bucket stays as full as it was, in proportion. */
	update(options: Omit<TokenBudgetOptions, 'runtime'>): void {
		this.#settings = readBudget(options, RULES, this.#settings)
		const max = thousandths(this.#settings.maxTokens)
		this.#tokens = Math.round((this.#tokens * max) / this.#max)
		this.#max = max
		this.#ratio = thousandths(this.#settings.tokenRatio)
	}
}

/**
 * A gRPC-style budget: `new TokenBudget(options)`.
 *
 * @example
 * const policy = retry({ budget: tokenBudget({ maxTokens: 100, tokenRatio: 0.5 }) })
 */
export function tokenBudget(options?: TokenBudgetOptions): TokenBudget {
	return new TokenBudget(options)
}
