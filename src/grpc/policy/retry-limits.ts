/**
 * The limits of retries and hedged requests: `retryThrottling` of the service config and the user's budget,
 * as one budget for core's layers. The outcomes that move the tokens are not recorded here but by the attempt
 * layer: gRPC counts only some failures, and also failures of methods without a retry policy.
 */
import type { Budget } from '../../core/budget/budget.ts'
import type { TokenBudget } from '../../core/budget/token-budget.ts'

export const retryLimits = (tokens: TokenBudget | undefined, budget: Budget | undefined): Budget => ({
	recordRequest: (now) => budget?.recordRequest(now),
	canRetry: (now, isTimeout) => tokens?.canRetry() !== false && budget?.canRetry(now, isTimeout) !== false,
	recordRetry: (now, isTimeout) => budget?.recordRetry(now, isTimeout),
	recordOutcome: (ok, chargedFor) => budget?.recordOutcome(ok, chargedFor),
	available: (now) => Math.min(tokens?.available() ?? Infinity, budget?.available(now) ?? Infinity),
})
