/**
 * The limits of retries and hedged requests: `retryThrottling` of the service config and the user's budget,
 * as one budget for core's layers. The outcomes that move the tokens are not recorded here but by the attempt
 * layer: gRPC counts only some failures, and also failures of methods without a retry policy.
 */
import type { Budget } from '../../core/budget/budget.ts'
import type { TokenBudget } from '../../core/budget/token-budget.ts'

export class RetryLimits implements Budget {
	readonly #tokens: TokenBudget | undefined
	readonly #budget: Budget | undefined

	constructor(tokens: TokenBudget | undefined, budget: Budget | undefined) {
		this.#tokens = tokens
		this.#budget = budget
	}

	recordRequest(now?: number): void {
		this.#budget?.recordRequest(now)
	}

	canRetry(now?: number, isTimeout?: boolean): boolean {
		return this.#tokens?.canRetry() !== false && this.#budget?.canRetry(now, isTimeout) !== false
	}

	recordRetry(now?: number, isTimeout?: boolean): void {
		this.#budget?.recordRetry(now, isTimeout)
	}

	recordOutcome(ok: boolean, chargedFor?: 'timeout' | 'failure'): void {
		this.#budget?.recordOutcome(ok, chargedFor)
	}

	available(now?: number): number {
		return Math.min(this.#tokens?.available() ?? Infinity, this.#budget?.available(now) ?? Infinity)
	}
}
