/**
 * Decides what follows a failed delivery, with the same rules as a failed call in core; but the result is stored and not awaited. Pure. Rules of the
 * user may throw; the decision is then made as if the rule did not exist, because a message must not be lost to a bug in a rule.
 */

import type { RandomSource } from '../../core/backoff/formula.ts'
import { computeDelayMs } from '../../core/backoff/formula.ts'
import type { Classification } from '../../core/classify/classification.ts'
import { nextWait, stopReason } from '../../core/retry/decision.ts'
import type { RetrySettings } from '../../core/retry/options.ts'
import type { DeadLetterCause } from '../message/message.ts'
import { toRetryLimit } from '../message/retry-limit.ts'
import { toStoredError } from '../message/stored-error.ts'
import type { ClaimedRow, Settlement } from '../store/rows.ts'
import { claimRef } from './delivery.ts'
import type { DestinationSettings } from './options.ts'

export interface DecisionContext {
	/** The database's time. */
	readonly now: number
	readonly maxRetryAfterMs: number
	readonly random: RandomSource
}

/** Classifies an error by the destination's classifier, then the package's. */
export function classifyFailure(settings: DestinationSettings, error: unknown): Classification {
	try {
		return settings.classify(error)
	} catch {
		return { kind: 'transient', isKnown: false }
	}
}

/** Returns true if the error counts as a failure of the destination, false if it concerns only the message. */
export function countsAsFailure(
	settings: DestinationSettings,
	error: unknown,
	{ kind }: Classification,
): boolean {
	return ownVerdict(settings, error) ?? (kind === 'throttled' || kind === 'transient')
}

/** Returns what the user's `isFailure` says; undefined without one, or if it throws. */
export function ownVerdict(
	{ circuitBreaker: breaker }: DestinationSettings,
	error: unknown,
): boolean | undefined {
	try {
		return breaker?.isFailure?.(error)
	} catch {
		return undefined
	}
}

export function decideFailure(
	row: ClaimedRow,
	error: unknown,
	classification: Classification,
	settings: DestinationSettings,
	{ now, maxRetryAfterMs, random }: DecisionContext,
): Settlement {
	const { expiresAt } = row
	const maxRetries = toRetryLimit(row.maxRetries) ?? settings.retry.maxRetries
	const retry: RetrySettings = { ...settings.retry, maxRetries, maxRetryAfterMs }
	const dead = (cause: DeadLetterCause): Settlement => ({
		...{ type: 'dead', ...claimRef(row), cause },
		error: toStoredError(error),
		afterDeadLetter: settings.afterDeadLetter ?? 'skip',
	})
	const decision = decideRetry(retry, row, error, classification, random)
	if (typeof decision === 'string') return dead(decision)
	const { source, delayMs } = decision
	const inMs = Math.round(delayMs)
	if (expiresAt !== null && now + inMs >= expiresAt) return dead('expired')
	const backoffMs = source === 'backoff' ? delayMs : row.delayMs
	return { type: 'retry', ...claimRef(row), inMs, delayMs: backoffMs, error: toStoredError(error) }
}

function decideRetry(
	retry: RetrySettings,
	row: ClaimedRow,
	error: unknown,
	classification: Classification,
	random: RandomSource,
): DeadLetterCause | ReturnType<typeof nextWait> {
	const failed = row.attempt - 1
	const previous = row.delayMs ?? retry.baseDelayMs
	// A message has no caller that could have cancelled it: something in between did, and a retry may succeed.
	const effective: Classification =
		classification.kind === 'cancelled' ? { ...classification, kind: 'transient' } : classification
	try {
		const stop = stopReason(retry, failed, error, effective)
		if (stop === 'retries-exhausted') return stop
		return stop === undefined ? nextWait(retry, failed, previous, error, effective, random) : 'permanent'
	} catch {
		if (failed >= retry.maxRetries) return 'retries-exhausted'
		return { delayMs: computeDelayMs(retry, failed, previous, random), source: 'backoff' }
	}
}
