/** `yaoki`: policies, backoff, classification, deadlines. No dependency, and runs anywhere. */
export { calculateDelay, type DelayOptions, nextRetryAt } from './backoff/delay.ts'
export type { BackoffOptions } from './backoff/options.ts'
export { type Preset, presets } from './backoff/presets.ts'
export { type DelayRange, type Schedule, type ScheduledDelay, schedule } from './backoff/schedule.ts'
export type { Growth, JitterStrategy } from './backoff/settings.ts'
export type { Classification, Classify, FailureKind } from './classify/classification.ts'
export { classify, isRetryable, isRetryableNetworkError, isRetryableStatus } from './classify/classify.ts'
export { permanent } from './classify/permanent.ts'
export { Deadline } from './deadline/deadline.ts'
export type { CallOptions } from './engine/call-options.ts'
export type { CallContext } from './engine/context.ts'
export { type PipelineOptions, pipeline } from './engine/pipeline.ts'
export { Policy, type Settled, type Wrapped } from './engine/policy.ts'
export type { PolicyOptions } from './engine/policy-options.ts'
export {
	BulkheadRejectedError,
	CircuitOpenError,
	DeadlineExceededError,
	HttpError,
	InvalidOptionError,
	RateLimitedError,
	TimeoutError,
	YaokiError,
} from './errors/errors.ts'
export type {
	Listener,
	RetryAttemptEvent,
	RetryFailureEvent,
	RetrySuccessEvent,
	YaokiEvent,
} from './events/events.ts'
export { type Explanation, explain } from './explain/explain.ts'
export type { Attempt, AttemptOutcome, DelaySource, StopReason } from './explain/record.ts'
export type { RetryOptions, RetryWithBackoffOptions } from './retry/options.ts'
export { Retry, retry } from './retry/retry.ts'
export { retryWithBackoff } from './retry/retry-with-backoff.ts'
export type { Runtime, TimerKind } from './runtime/runtime.ts'
