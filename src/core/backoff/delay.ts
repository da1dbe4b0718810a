import { checkRange, invalidOption } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { systemRuntime } from '../runtime/system.ts'
import { stepMs } from './growth.ts'
import { JITTERS, type RandomSource } from './jitter.ts'
import { type BackoffOptions, readBackoff } from './options.ts'
import type { BackoffSettings } from './settings.ts'

/** The formula over settings that have been checked: what a policy calls before each retry. */
export function computeDelayMs(
	settings: BackoffSettings,
	attempt: number,
	previous: number,
	source: RandomSource,
): number {
	return JITTERS[settings.jitterStrategy](settings, stepMs(settings, attempt), previous, source)
}

/** Backoff options, and the runtime that provides the random numbers. */
type DelayOptions = BackoffOptions & { readonly runtime?: Runtime | undefined }

/**
 * How long to wait after the failure of `attempt` (from 0), in milliseconds.
 *
 * `previousDelayMs` matters to the decorrelated strategies only; it starts at the base.
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
 * The same as a Date, for a row in a database. A decorrelated strategy needs the row's previous delay too, or every delay
 * is like the first.
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
	if (!(Math.abs(Number(now)) <= 8.64e15)) invalidOption('now', now, 'a Date or milliseconds since 1970')
	return new Date(Number(now) + calculateDelay(attempt, options, previousDelayMs))
}
