/**
 * Whether a call is made again, and after how long. Synchronous and without a clock: it is told the outcome and what
 * time is left, and answers at once.
 */
import { delayMs } from '../backoff/delay.ts'
import type { Classification } from '../classify/classification.ts'
import { decided } from '../engine/hooks.ts'
import type { StopReason, Wait } from '../explain/record.ts'
import { checkRange } from '../options/ranges.ts'
import type { RetrySettings } from './options.ts'

/** What one call's retries have come to. */
export interface RetryState {
	/** From 0: the attempt whose outcome is decided upon. */
	readonly attempt: number
	/** The latest backoff delay. A Retry-After wait is not one. */
	readonly previousDelayMs: number
	readonly settings: RetrySettings
}

/** Why there is no next attempt, as far as its error tells. An unwanted result has no verdict. */
export function refusal(
	{ settings, attempt }: RetryState,
	error: unknown,
	verdict: Classification | undefined,
): StopReason | undefined {
	const { maxRetries, shouldRetry } = settings
	const kind = verdict?.kind
	if (!shouldRetry && (kind === 'permanent' || kind === 'cancelled')) return kind
	if (attempt >= maxRetries) return 'retries-used-up'
	return kind && shouldRetry && !decided('shouldRetry', shouldRetry(error, attempt))
		? 'should-retry'
		: undefined
}

/** The wait before the next attempt. */
export function nextWait(
	{ settings, attempt, previousDelayMs }: RetryState,
	error: unknown,
	verdict: Classification | undefined,
	random: () => number,
): Wait {
	const { delayFor } = settings
	const asked = verdict && (delayFor ? decided('delayFor', delayFor(error, attempt)) : verdict.retryAfterMs)
	const wait: Wait = {
		delayMs: asked ?? delayMs(settings, attempt, previousDelayMs, random),
		source: asked === undefined ? 'backoff' : delayFor ? 'delay-for' : 'retry-after',
	}
	checkRange(`delay (${wait.source})`, wait.delayMs)
	return wait
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
