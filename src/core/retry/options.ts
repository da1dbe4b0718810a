import { BACKOFF_SCHEMA, type BackoffOptions, readBackoff } from '../backoff/options.ts'
import type { BackoffSettings } from '../backoff/settings.ts'
import type { Budget } from '../budget/budget.ts'
import type { Deadline } from '../deadline/deadline.ts'
import { checkPolicyOptions, POLICY_SCHEMA, type PolicyOptions } from '../engine/policy-options.ts'
import { invalidOption, type OptionSchema } from '../options/schema.ts'

/** A method in disguise, whose parameter a user may declare to be what the work gives: `(job: Job) => job.isPending`. */
type ResultTest<T> = { test(value: T, attempt: number): boolean }['test']

/** Whether, how often and after how long a call is made again. */
export interface RetryOptions extends BackoffOptions, PolicyOptions {
	/** Is this error worth another try? `attempt` from 0. Default: all but `permanent` and `cancelled`. */
	readonly shouldRetry?: ((error: unknown, attempt: number) => boolean) | undefined
	/** Is this result no good? `attempt` from 0. The last result is returned when the retries are used up. */
	readonly retryResult?: ResultTest<unknown> | undefined
	/** A wait that beats the backoff; undefined leaves it to the backoff. Default: the error's `retryAfterMs`. */
	readonly delayFor?: ((error: unknown, attempt: number) => number | undefined) | undefined
	/** What retries may cost in all, shared with other policies. Default: no budget. */
	readonly budget?: Budget | undefined
	/**
	 * Which of several retries around each other retries: the `'innermost'`, being nearest the failure, or the `'outermost'`, so
	 * that only the edge does. It is enough that one of them says so. Default `'innermost'`.
	 */
	readonly nested?: 'innermost' | 'outermost' | undefined
	/** Told before each wait; `attempt` from 1. The error is undefined when `retryResult` asked for the retry. */
	readonly onRetry?: ((error: unknown, attempt: number, delayMs: number) => void) | undefined
}

/** A retry's options and what belongs to the one call that it makes. */
export interface RetryWithBackoffOptions<T = unknown> extends RetryOptions {
	/** Is this result no good? `attempt` from 0. The last result is returned when the retries are used up. */
	readonly retryResult?: ResultTest<T> | undefined
	/** The caller's own abort. It ends a wait at once and reaches the work through its context. */
	readonly signal?: AbortSignal | undefined
	/** By when an answer is worth having. */
	readonly deadline?: Deadline | undefined
}

export type RetrySettings = Omit<RetryOptions, keyof BackoffSettings> & BackoffSettings

const RETRY_SCHEMA: OptionSchema = {
	...BACKOFF_SCHEMA,
	shouldRetry: 'function',
	retryResult: 'function',
	delayFor: 'function',
	onRetry: 'function',
	budget: 'any',
	nested: 'any',
	...POLICY_SCHEMA,
}

export function readRetryOptions(options: RetryOptions): RetrySettings {
	checkPolicyOptions(options, RETRY_SCHEMA, 'retry')
	const { budget, nested = 'innermost' } = options
	if (budget !== undefined && typeof budget?.canRetry !== 'function')
		invalidOption('budget', budget, 'a budget, such as retryBudget()')
	if (nested !== 'innermost' && nested !== 'outermost')
		invalidOption('nested', nested, "'innermost' or 'outermost'")
	return readBackoff<RetrySettings>(options, RETRY_SCHEMA)
}
