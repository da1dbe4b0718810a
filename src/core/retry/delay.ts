import { checkRange, invalidOption } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { systemRuntime } from '../runtime/system.ts'
import { computeDelayMs } from './formula.ts'
import { type BackoffOptions, readBackoff } from './options.ts'

/** Backoff options, and the runtime that draws the random numbers. */
type DelayOptions = BackoffOptions & { readonly runtime?: Runtime | undefined }

/**
 * Returns the delay after the failure of `attempt` (from 0), in milliseconds.
 *
 * Only the decorrelated strategies use `previousDelayMs`. Default: `baseDelayMs`.
 *
 * @example
 * calculateDelay(2, { baseDelayMs: 1000, jitterStrategy: 'none' }) // 4000
 */
export function calculateDelay(
	attempt: number,
	options: DelayOptions = {},
	previousDelayMs?: number,
): number {
	const settings = readBackoff(options)
	const previous = previousDelayMs ?? settings.baseDelayMs
	checkRange('attempt', attempt)
	if (attempt % 1) invalidOption('attempt', attempt, 'an integer')
	checkRange('previousDelayMs', previous)
	return computeDelayMs(settings, attempt, previous, options.runtime ?? systemRuntime)
}

/**
 * Returns the time of the next attempt, for a row in a database: `now` plus `calculateDelay(...)`.
 *
 * A decorrelated strategy also needs the previous delay, stored in the row; without it, every delay is computed like the first one.
 *
 * @example
 * await db.query('UPDATE jobs SET next_retry_at = $1', [nextRetryAt(failedAt, 2, presets.background)])
 */
export function nextRetryAt(
	now: Date | number,
	attempt: number,
	options: DelayOptions = {},
	previousDelayMs?: number,
): Date {
	if (!(Math.abs(Number(now)) <= 8.64e15))
		invalidOption('now', now, 'a valid Date or milliseconds since 1970')
	return new Date(Number(now) + calculateDelay(attempt, options, previousDelayMs))
}
