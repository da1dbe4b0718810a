import { BACKOFF_RULES, type BackoffOptions, checkCap, MAX_RETRIES } from '../backoff/options.ts'
import type { BackoffSettings } from '../backoff/settings.ts'
import type { Deadline } from '../deadline/deadline.ts'
import type { PolicyOptions } from '../engine/policy.ts'
import { InvalidOptionError } from '../errors/errors.ts'
import { anything, hook, milliseconds, type Rules, readOptions } from '../options/rules.ts'

/** Whether, how often and after how long a call is made again. */
export interface RetryOptions extends BackoffOptions, PolicyOptions {
	/** How many retries may follow the first call: 3 makes at most 4 calls. Default 3. */
	readonly maxRetries?: number | undefined
	/** No attempt starts later than this after the first one did. Default: no limit. */
	readonly maxElapsedMs?: number | undefined
	/** Is this error worth another try? `attempt` from 0. Default: all but `permanent` and `cancelled`. */
	readonly shouldRetry?: ((error: unknown, attempt: number) => boolean) | undefined
	/** Is this result no good? `attempt` from 0. The last result is returned when the retries are used up. */
	readonly retryResult?: ((value: unknown, attempt: number) => boolean) | undefined
	/** A wait that beats the backoff; undefined leaves it to the backoff. Default: the error's `retryAfterMs`. */
	readonly delayFor?: ((error: unknown, attempt: number) => number | undefined) | undefined
	/** Told before each wait; `attempt` from 1. The error is undefined when `retryResult` asked for the retry. */
	readonly onRetry?: ((error: unknown, attempt: number, delayMs: number) => void) | undefined
}

/** A retry's options and what belongs to the one call that it makes. */
export interface RetryWithBackoffOptions extends RetryOptions {
	readonly signal?: AbortSignal | undefined
	readonly deadline?: Deadline | undefined
}

export type RetrySettings = BackoffSettings &
	Pick<
		RetryOptions,
		'maxElapsedMs' | 'shouldRetry' | 'retryResult' | 'delayFor' | 'onRetry' | 'name' | 'runtime' | 'classify'
	> & {
		readonly maxRetries: number
	}

const RETRY_RULES: Rules<RetrySettings> = {
	...BACKOFF_RULES,
	maxRetries: MAX_RETRIES,
	maxElapsedMs: milliseconds(undefined),
	shouldRetry: hook,
	retryResult: hook,
	delayFor: hook,
	onRetry: hook,
	name: anything('string', undefined),
	runtime: anything('object', undefined),
	classify: hook,
}

export function readRetryOptions(options: RetryOptions): RetrySettings {
	const settings = readOptions<RetrySettings>(options, RETRY_RULES)
	checkCap(settings)
	// Nothing retries forever.
	if (settings.maxRetries === Infinity && settings.maxElapsedMs === undefined) {
		throw new InvalidOptionError('maxRetries', Infinity, MAX_RETRIES[1])
	}
	return settings
}
