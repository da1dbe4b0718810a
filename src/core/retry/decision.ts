/**
 * Whether a call is made again, and after how long. Synchronous and without a clock: it is told the outcome and what
 * time is left, and answers at once.
 */
import { delayMs } from '../backoff/delay.ts'
import type { Classification } from '../classify/classification.ts'
import { decided } from '../engine/hooks.ts'
import { InvalidOptionError } from '../errors/errors.ts'
import type { StopReason, Wait } from '../explain/record.ts'
import { isAmount, MILLISECONDS } from '../options/rules.ts'
import type { RetrySettings } from './options.ts'

/** How much time is left until the limits. Infinity where there is none. */
export interface TimeLeft {
	readonly elapsedLimit: number
	readonly deadline: number
}

/** What one call's retries have come to. */
export interface RetryState {
	/** From 0: the attempt whose outcome is decided upon. */
	readonly attempt: number
	/** The latest backoff delay. A Retry-After wait is not one. */
	readonly previousDelayMs: number
}

/** The wait before the next attempt, or why there is none. `verdict` is what an error means; an unwanted result has none. */
export function decideRetry(
	settings: RetrySettings,
	state: RetryState,
	value: unknown,
	verdict: Classification | undefined,
	left: TimeLeft,
	random: () => number,
): Wait | StopReason {
	const { maxRetries, shouldRetry } = settings
	const { attempt } = state
	const kind = verdict?.kind
	if (!shouldRetry && (kind === 'permanent' || kind === 'cancelled')) return kind
	if (attempt >= maxRetries) return 'retries-used-up'
	if (shouldRetry && verdict && !decided('shouldRetry', shouldRetry(value, attempt))) return 'should-retry'
	const wait = nextWait(settings, state, value, verdict, random)
	return limitPassed(wait.delayMs, left) ?? wait
}

/** No attempt starts that can not finish: a wait counts before it is slept and, as timers may be late, after it. */
export function limitPassed(waitMs: number, left: TimeLeft): StopReason | undefined {
	if (waitMs >= left.deadline) return 'deadline'
	return waitMs > left.elapsedLimit ? 'elapsed-limit' : undefined
}

function nextWait(
	settings: RetrySettings,
	{ attempt, previousDelayMs }: RetryState,
	value: unknown,
	verdict: Classification | undefined,
	random: () => number,
): Wait {
	const { delayFor } = settings
	const asked = verdict && (delayFor ? decided('delayFor', delayFor(value, attempt)) : verdict.retryAfterMs)
	const wait: Wait = {
		delayMs: asked ?? delayMs(settings, attempt, previousDelayMs, random),
		source: asked === undefined ? 'backoff' : delayFor ? 'delay-for' : 'retry-after',
	}
	if (!isAmount(wait.delayMs))
		throw new InvalidOptionError(`the delay (${wait.source})`, wait.delayMs, MILLISECONDS)
	return wait
}
