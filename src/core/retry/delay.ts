import { computeDelayMs } from '../backoff/formula.ts'
import { checkAmount, invalidArgument, MAX_NUMBER } from '../options/schema.ts'
import { systemRuntime } from '../runtime/system.ts'
import { type RetryOptions, type RetrySettings, readDelayOptions } from './options.ts'

/**
 * Settings by options object, with a copy of the options, because the object may change. Delays are computed
 * for every row of a table with the same object, and validation takes some hundred times as long as the
 * formula.
 */
const cache: WeakMap<RetryOptions, { readonly given: RetryOptions; readonly settings: RetrySettings }> =
	/* @__PURE__ */ new WeakMap()

function readCached(options: RetryOptions): RetrySettings {
	const known = cache.get(options)
	if (known && isSame(known.given, options)) return known.settings
	const settings = readDelayOptions(options, 'calculateDelay')
	cache.set(options, { given: { ...options }, settings })
	return settings
}

function isSame(a: RetryOptions, b: RetryOptions): boolean {
	const names = Object.keys(b) as (keyof RetryOptions)[]
	return names.length === Object.keys(a).length && names.every((name) => a[name] === b[name])
}

/**
 * Returns the delay after the failure of `attempt` (from 0), in milliseconds.
 *
 * The options of a retry are valid too. Only the decorrelated strategies use `previousDelayMs`. Default:
 * `baseDelayMs`.
 *
 * @example
 * calculateDelay(2, { baseDelayMs: 1000, jitterStrategy: 'none' }) // => 4000
 */
export function calculateDelay(
	attempt: number,
	options: RetryOptions = {},
	previousDelayMs?: number,
): number {
	const settings = readCached(options)
	const previous = previousDelayMs ?? settings.baseDelayMs
	checkAmount('attempt', attempt, MAX_NUMBER, 'integer')
	checkAmount('previousDelayMs', previous)
	return computeDelayMs(settings, attempt, previous, options.runtime ?? systemRuntime)
}

/**
 * Returns the time of the next attempt, for a row in a database: `now` plus `calculateDelay(...)`.
 *
 * A decorrelated strategy also needs the previous delay, stored in the row; without it, every delay is
 * computed like the first one.
 *
 * @example
 * await pool.query('UPDATE jobs SET next_retry_at = $1', [nextRetryAt(failedAt, 2, presets.background)])
 */
export function nextRetryAt(
	now: Date | number,
	attempt: number,
	options: RetryOptions = {},
	previousDelayMs?: number,
): Date {
	if (!(Math.abs(Number(now)) <= 8.64e15))
		invalidArgument('now', now, 'a valid Date or milliseconds since 1970')
	return new Date(Number(now) + calculateDelay(attempt, options, previousDelayMs))
}
