/**
 * Whether a call is made again, and after how long. Synchronous and without a clock: it is told the outcome and what
 * time is left, and answers at once.
 */

import { delayMs } from '../backoff/delay.ts'
import type { Chance } from '../backoff/jitter.ts'
import type { Classification } from '../classify/classification.ts'
import { peek } from '../classify/peek.ts'
import { decided } from '../engine/hooks.ts'
import type { StopReason, Wait } from '../explain/record.ts'
import { checkRange, isAmount } from '../options/rules.ts'
import type { RetrySettings } from './options.ts'

/** Why there is no next attempt, as far as the outcome tells. `verdict` is what its error means; a result has none. */
export function refusal(
	{ maxRetries, shouldRetry }: RetrySettings,
	attempt: number,
	error: unknown,
	verdict: Classification | undefined,
): StopReason | undefined {
	const kind = verdict?.kind
	if (!shouldRetry && (kind === 'permanent' || kind === 'cancelled')) return kind
	if (attempt >= maxRetries) return 'retries-used-up'
	return kind && shouldRetry && !decided('shouldRetry', shouldRetry(error, attempt))
		? 'should-retry'
		: undefined
}

/** The wait before the next attempt. `previousDelayMs` is the latest backoff delay; a Retry-After wait is not one. */
export function nextWait(
	settings: RetrySettings,
	attempt: number,
	previousDelayMs: number,
	error: unknown,
	verdict: Classification | undefined,
	chance: Chance,
): Wait {
	const { delayFor } = settings
	const asked =
		verdict && (delayFor ? decided('delayFor', delayFor(error, attempt)) : retryAfter(error, verdict))
	const source = asked === undefined || asked === null ? 'backoff' : delayFor ? 'delay-for' : 'retry-after'
	const wait = asked ?? delayMs(settings, attempt, previousDelayMs, chance)
	if (!isAmount(wait)) checkRange(`delay (${source})`, wait)
	return { delayMs: wait, source }
}

/** A user's own classifier need not know of Retry-After: what the error itself says still counts. */
function retryAfter(error: unknown, verdict: Classification): number | undefined {
	const own = peek(error, 'retryAfterMs')
	return verdict.retryAfterMs ?? (isAmount(own) ? own : undefined)
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
