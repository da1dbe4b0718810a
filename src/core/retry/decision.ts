/**
 * Decides whether a call is retried and after which delay. Synchronous and without a clock: the outcome and the
 * remaining time are parameters.
 */

import type { RandomSource } from '../backoff/formula.ts'
import { computeDelayMs } from '../backoff/formula.ts'
import type { Classification } from '../classify/classification.ts'
import { safeGet } from '../classify/safe-get.ts'
import { requireSync } from '../engine/hooks.ts'
import type { RetryDelay, StopReason } from '../explain/record.ts'
import { checkRange, isAmount } from '../options/schema.ts'
import type { RetrySettings } from './options.ts'

/**
 * Returns why there is no next attempt, as far as the outcome decides it. `classification` is undefined for a result.
 */
export function stopReason(
	{ maxRetries, shouldRetry }: RetrySettings,
	attempt: number,
	error: unknown,
	classification: Classification | undefined,
): StopReason | undefined {
	const kind = classification?.kind
	if (!shouldRetry && (kind === 'permanent' || kind === 'cancelled')) return kind
	if (attempt >= maxRetries) return 'retries-exhausted'
	return kind && shouldRetry && !requireSync('shouldRetry', shouldRetry(error, attempt))
		? 'should-retry-false'
		: undefined
}

/**
 * Returns the delay before the next attempt. `previousDelayMs` is the last backoff delay; a Retry-After wait does not
 * count.
 */
export function nextWait(
	settings: RetrySettings,
	attempt: number,
	previousDelayMs: number,
	error: unknown,
	classification: Classification | undefined,
	random: RandomSource,
): RetryDelay {
	const { delayFor } = settings
	const asked =
		classification &&
		(delayFor ? requireSync('delayFor', delayFor(error, attempt)) : retryAfter(error, classification))
	const source = asked === undefined || asked === null ? 'backoff' : delayFor ? 'delay-for' : 'retry-after'
	const wait = asked ?? computeDelayMs(settings, attempt, previousDelayMs, random)
	if (!isAmount(wait)) checkRange(`delay (${source})`, wait)
	return { delayMs: wait, source }
}

/** A user's classifier need not handle Retry-After: the error's own `retryAfterMs` still applies. */
function retryAfter(error: unknown, classification: Classification): number | undefined {
	const own = safeGet(error, 'retryAfterMs')
	return classification.retryAfterMs ?? (isAmount(own) ? own : undefined)
}

/**
 * No attempt starts that cannot finish: the limits are checked before the wait and, because timers may be late, after
 * it.
 */
export function limitPassed(
	waitMs: number,
	untilElapsedLimit: number,
	untilDeadline: number,
): StopReason | undefined {
	if (waitMs >= untilDeadline) return 'deadline'
	return waitMs > untilElapsedLimit ? 'elapsed-limit' : undefined
}
