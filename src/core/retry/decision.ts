/**
 * Decides whether a call is retried and after which delay. Synchronous and without a clock: the outcome and
 * the remaining time are parameters.
 */

import { computeDelayMs, type RandomSource } from '../backoff/formula.ts'
import { askedWaitMs } from '../classify/asked-wait.ts'
import type { Classification } from '../classify/classification.ts'
import { isErrorLike } from '../classify/error-like.ts'
import { InvalidOptionError } from '../errors/errors.ts'
import type { RetryDelay, StopReason } from '../explain/record.ts'
import { requireSync } from '../options/hooks.ts'
import { isAmount } from '../options/schema.ts'
import { systemRuntime } from '../runtime/system.ts'
import type { RetrySettings } from './options.ts'

/**
 * Returns why there is no next attempt, as far as the outcome decides it. `classification` is undefined for a
 * result. `shouldRetry` is called after the last attempt only if there is a retry further out, which needs to
 * know whether this one would have retried the failure. `counted` is the number of retries so far that count.
 */
export function stopReason(
	{ maxRetries, shouldRetry }: RetrySettings,
	attempt: number,
	error: unknown,
	classification: Classification | undefined,
	hasOuterRetry = false,
	counted: number = attempt,
): StopReason | undefined {
	const kind = classification?.kind
	if (!shouldRetry && (kind === 'permanent' || kind === 'cancelled')) return kind
	const isLast = counted >= maxRetries
	const mustAsk = kind && shouldRetry && (!isLast || hasOuterRetry)
	if (mustAsk && !requireSync('shouldRetry', shouldRetry(error, attempt))) return 'should-retry-false'
	return isLast ? 'retries-exhausted' : undefined
}

/** A delay, and the wait that the dependency asked for if that determined it. */
export interface NextWait extends RetryDelay {
	readonly askedMs?: number | undefined
}

/**
 * Returns the delay before the next attempt. `classification` is undefined for a result. `previousDelayMs` is
 * the last backoff delay; a Retry-After wait does not count. Jitter comes on top of a Retry-After, which is
 * capped before it, unless it `isExact`. A Retry-After of 0 or a date in the past names no wait, so the
 * backoff applies: without one, a service that sends 0 with every error would get all retries within a
 * moment.
 */
export function nextWait(
	settings: RetrySettings,
	attempt: number,
	previousDelayMs: number,
	value: unknown,
	classification: Classification | undefined,
	random: RandomSource,
	isExact = false,
): NextWait {
	const { delayFor, maxRetryAfterMs } = settings
	const asked = delayFor
		? requireSync(
				'delayFor',
				classification ? delayFor(value, attempt) : delayFor(undefined, attempt, { result: value }),
			)
		: classification && retryAfter(value, classification)
	const isNone = asked === undefined || asked === null || (asked === 0 && !delayFor && !isExact)
	const source = isNone ? 'backoff' : delayFor ? 'delay-for' : 'retry-after'
	const wait = isNone ? computeDelayMs(settings, attempt, previousDelayMs, random) : asked
	if (!isAmount(wait))
		throw new InvalidOptionError(`delay (${source})`, wait, 'a finite number, 0 or more', undefined, {
			cause: classification && value,
		})
	if (source !== 'retry-after') return { delayMs: wait, source }
	const delayMs = isExact ? wait : addRetryAfterJitter(Math.min(wait, maxRetryAfterMs), random)
	return { delayMs, source, askedMs: wait }
}

/** A user's classifier need not handle Retry-After: what the error itself asks for still applies. */
const retryAfter = (error: unknown, { retryAfterMs }: Classification): number | undefined =>
	retryAfterMs ?? (isErrorLike(error) ? askedWaitMs(error, systemRuntime) : undefined)

/** Jitter on top of the wait: a share of it, and at least this range. */
export const RETRY_AFTER_JITTER = 0.25
const MIN_JITTER_MS = 100

/**
 * Returns the wait that a dependency asked for plus jitter, never less than it asked for. It may ask all
 * callers for the same wait; without jitter they would return together.
 */
export const addRetryAfterJitter = (waitMs: number, source: RandomSource): number =>
	waitMs + source.random() * Math.max(MIN_JITTER_MS, waitMs * RETRY_AFTER_JITTER)
