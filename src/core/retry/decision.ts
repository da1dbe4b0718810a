/**
 * Whether a call is made again, and after how long. Synchronous and without a clock: it is told the outcome and what
 * time is left, and answers at once.
 */

import { computeDelayMs } from '../backoff/delay.ts'
import type { RandomSource } from '../backoff/jitter.ts'
import type { Classification } from '../classify/classification.ts'
import { safeGet } from '../classify/safe-get.ts'
import { requireSync } from '../engine/hooks.ts'
import type { RetryDelay, StopReason } from '../explain/record.ts'
import { checkRange, isAmount } from '../options/schema.ts'
import type { RetrySettings } from './options.ts'

/** Why there is no next attempt, as far as the outcome tells. `classification` is what its error means; a result has none. */
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

/** The wait before the next attempt. `previousDelayMs` is the latest backoff delay; a Retry-After wait is not one. */
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

/** A user's own classifier need not know of Retry-After: what the error itself says still counts. */
function retryAfter(error: unknown, classification: Classification): number | undefined {
	const own = safeGet(error, 'retryAfterMs')
	return classification.retryAfterMs ?? (isAmount(own) ? own : undefined)
}

/** No attempt starts that can not finish: a wait counts before it is slept and, as timers may be late, after it. */
export function limitPassed(
	waitMs: number,
	untilElapsedLimit: number,
	untilDeadline: number,
): StopReason | undefined {
	if (waitMs >= untilDeadline) return 'deadline'
	return waitMs > untilElapsedLimit ? 'elapsed-limit' : undefined
}
