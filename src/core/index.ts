/** `yaoki`: policies, backoff, classification, deadlines. No dependency, and runs anywhere. */

export type { JitterStrategy } from './backoff/formula.ts'
export type { BackoffOptions } from './backoff/options.ts'
export { type BackoffPreset, presets } from './backoff/presets.ts'
export type { Budget } from './budget/budget.ts'
export {
	RetryBudget,
	type RetryBudgetOptions,
	type RetryBudgetStats,
	retryBudget,
} from './budget/retry-budget.ts'
export {
	type TokenBudget,
	type TokenBudgetOptions,
	type TokenBudgetStats,
	tokenBudget,
} from './budget/token-budget.ts'
export { type AdaptiveBulkhead, adaptiveBulkhead } from './bulkhead/adaptive-bulkhead.ts'
export { type Bulkhead, type BulkheadStats, bulkhead } from './bulkhead/bulkhead.ts'
export type { AdaptiveBulkheadOptions, BulkheadOptions } from './bulkhead/options.ts'
export type { CircuitBreakerStats } from './circuit-breaker/circuit.ts'
export { type CircuitBreaker, circuitBreaker } from './circuit-breaker/circuit-breaker.ts'
export type { CircuitBreakerOptions } from './circuit-breaker/options.ts'
export type { CircuitSnapshot } from './circuit-breaker/snapshot.ts'
export type { Classification, Classifier, FailureKind } from './classify/classification.ts'
export { classify, isRetryable, isRetryableNetworkError, isRetryableStatus } from './classify/classify.ts'
export { permanent } from './classify/permanent.ts'
export { Deadline } from './deadline/deadline.ts'
export type { CallContext, CallOptions } from './engine/call-options.ts'
export { type PipelineOptions, pipeline } from './engine/pipeline.ts'
export type { Policy, Settled } from './engine/policy.ts'
export type { PolicyOptions } from './engine/policy-options.ts'
export type { YaokiErrorCode } from './errors/codes.ts'
export {
	BulkheadRejectedError,
	CircuitOpenError,
	DeadlineExceededError,
	HttpError,
	InvalidArgumentError,
	InvalidOptionError,
	RateLimitedError,
	TimeoutError,
	YaokiError,
} from './errors/errors.ts'
export type { CircuitState, ErrorFacts, EventBase, YaokiEvent } from './events/events.ts'
export { type Explanation, explain } from './explain/explain.ts'
export type { AttemptRecord, StopReason } from './explain/record.ts'
export { type Fallback, type FallbackOptions, fallback } from './fallback/fallback.ts'
export { type LastGoodValue, lastGoodValue } from './fallback/last-good-value.ts'
export { type Hedge, type HedgeStats, hedge } from './hedge/hedge.ts'
export type { HedgeOptions } from './hedge/options.ts'
export { type Keyed, keyed } from './keyed/keyed.ts'
export type { KeyedOptions } from './keyed/options.ts'
export { type LintFinding, type LintOptions, type LintReport, lint } from './lint/lint.ts'
export type { RateLimiterOptions } from './rate-limiter/options.ts'
export { type RateLimiter, type RateLimiterStats, rateLimiter } from './rate-limiter/rate-limiter.ts'
export { calculateDelay, nextRetryAt } from './retry/delay.ts'
export type { RetryOptions, RetryWithBackoffOptions } from './retry/options.ts'
export { type Retry, retry } from './retry/retry.ts'
export { retryWithBackoff } from './retry/retry-with-backoff.ts'
export { type RetrySchedule, schedule } from './retry/schedule.ts'
export type { Runtime } from './runtime/runtime.ts'
export {
	type AdaptiveThrottle,
	type AdaptiveThrottleStats,
	adaptiveThrottle,
} from './throttle/adaptive-throttle.ts'
export type { AdaptiveThrottleOptions } from './throttle/options.ts'
export { type Timeout, timeout } from './timeout/timeout.ts'
