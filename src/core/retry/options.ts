import type { BackoffSettings } from '../backoff/formula.ts'
import { BACKOFF_SCHEMA, type BackoffOptions, readBackoff } from '../backoff/options.ts'
import { type Budget, checkBudget } from '../budget/budget.ts'
import type { Deadline } from '../deadline/deadline.ts'
import { POLICY_SCHEMA, type PolicyOptions, readPolicyOptions } from '../engine/policy-options.ts'
import type { Hook } from '../options/hooks.ts'
import { checkNames, type Filled, MAX_NUMBER, type OptionSchema, readOptions } from '../options/schema.ts'

/** The result for which `retryResult` asked for a retry. */
export interface UnwantedResult {
	readonly result: unknown
}

/** Options of `retry`: whether, how often and after which delay a call is retried. */
export interface RetryOptions<Result = unknown> extends BackoffOptions, PolicyOptions {
	/**
	 * Return true to retry after this error. `attempt` counts from 0. Default: true except for `permanent` and
	 * `cancelled`.
	 */
	readonly shouldRetry?: Hook<[error: unknown, attempt: number], boolean> | undefined
	/**
	 * Return true to retry on this result. `attempt` counts from 0. If the retries are exhausted, the last
	 * result is returned. A declared type of the value is the type that operations must return.
	 */
	readonly retryResult?: Hook<[value: Result, attempt: number], boolean> | undefined
	/**
	 * Returns a delay that replaces the backoff; undefined keeps the backoff. `attempt` counts from 0. If
	 * `retryResult` asked for the retry, the error is undefined and the result is in the last argument.
	 * Default: the wait that the error asks for, plus jitter of up to a quarter of it and at least up to 100
	 * ms; if it asks for 0, the backoff.
	 */
	readonly delayFor?:
		| Hook<[error: unknown, attempt: number, unwanted?: UnwantedResult], number | undefined>
		| undefined
	/**
	 * The longest wait that a dependency may ask for with Retry-After. If it asks for more, the call ends with
	 * its error, and `explain` reports `retry-after`. A delay from `delayFor` is not limited. Default 60,000.
	 */
	readonly maxRetryAfterMs?: number | undefined
	/** Limits retries across calls and policies. Default: no budget. */
	readonly budget?: Budget | undefined
	/**
	 * Which policy retries if retries are nested: the `'innermost'`, which is nearest to the failure, or the
	 * `'outermost'`, for retries at the edge only. It is enough that one of the nested policies sets it.
	 * Default `'innermost'`.
	 */
	readonly nested?: 'innermost' | 'outermost' | undefined
	/**
	 * Called before each wait. `attempt` counts from 1. If `retryResult` asked for the retry, the error is
	 * undefined and the result is in the last argument.
	 */
	readonly onRetry?:
		| Hook<[error: unknown, attempt: number, delayMs: number, unwanted?: UnwantedResult], void>
		| undefined
}

/** Options of `retryWithBackoff`: the options of a `retry`, and of the one call that it makes. */
export interface RetryWithBackoffOptions<T = unknown> extends RetryOptions<T> {
	/** The caller's abort signal. It ends a wait immediately and reaches the operation through its context. */
	readonly signal?: AbortSignal | undefined
	/** Deadline for the whole call, retries included. */
	readonly deadline?: Deadline | undefined
}

export type RetrySettings = Filled<RetryOptions> & BackoffSettings

const RETRY_SCHEMA: OptionSchema = {
	...BACKOFF_SCHEMA,
	shouldRetry: 'function',
	retryResult: 'function',
	delayFor: 'function',
	maxRetryAfterMs: [0, MAX_NUMBER, 60_000],
	onRetry: 'function',
	budget: 'any',
	nested: ['innermost', 'outermost'],
	...POLICY_SCHEMA,
}

/** `owner` is named in errors. */
export function readRetryOptions(options: RetryOptions, owner = 'retry'): RetrySettings {
	return readSettings(options, readPolicyOptions(options, owner, RETRY_SCHEMA))
}

/** Options of functions that only compute delays. They need only the random numbers of a runtime. */
export function readDelayOptions(options: RetryOptions, owner: string): RetrySettings {
	checkNames(options, RETRY_SCHEMA, owner)
	return readSettings(options, readOptions(options, RETRY_SCHEMA))
}

function readSettings(options: RetryOptions, read: RetrySettings): RetrySettings {
	checkBudget(read.budget)
	return readBackoff(options, read)
}
