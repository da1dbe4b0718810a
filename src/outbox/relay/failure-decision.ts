/**
 * What becomes of a message that could not be sent: the same questions as for a call that failed, but the answer is written down and not
 * waited for. Pure: it is told the error and the database's time.
 */
import { computeDelayMs } from '../../core/backoff/delay.ts'
import type { RandomSource } from '../../core/backoff/jitter.ts'
import type { Classification } from '../../core/classify/classification.ts'
import { nextWait, stopReason } from '../../core/retry/decision.ts'
import type { RetrySettings } from '../../core/retry/options.ts'
import { failureNote } from '../message/failure-note.ts'
import type { DeadLetterCause } from '../message/message.ts'
import type { ClaimedRow, Settlement } from '../store/rows.ts'
import { heldBy } from './delivery.ts'
import type { DestinationSettings } from './settings.ts'

/** What the retry rules need to know besides the failure. */
export interface Circumstances {
	/** The database's time. */
	readonly now: number
	readonly maxRetryAfterMs: number
	readonly chance: RandomSource
}

/** Retry or dead letter. */
export function decideFailure(
	row: ClaimedRow,
	error: unknown,
	verdict: Classification,
	settings: DestinationSettings,
	{ now, maxRetryAfterMs, chance }: Circumstances,
): Settlement {
	const { expiresAt } = row
	const { maxRetries = settings.retry.maxRetries } = { maxRetries: row.maxRetries ?? undefined }
	const retry: RetrySettings = { ...settings.retry, maxRetries }
	const dead = (cause: DeadLetterCause): Settlement => ({
		...{ type: 'dead', ...heldBy(row), cause },
		error: failureNote(error),
		afterDeadLetter: settings.afterDeadLetter ?? 'skip',
	})
	const decision = decide(retry, row, error, verdict, chance)
	if (typeof decision === 'string') return dead(decision)
	const isAsked = decision.source === 'retry-after'
	const inMs = Math.round(isAsked ? Math.min(decision.delayMs, maxRetryAfterMs) : decision.delayMs)
	if (expiresAt !== null && now + inMs >= expiresAt) return dead('expired')
	const backoffMs = decision.source === 'backoff' ? decision.delayMs : row.delayMs
	return { type: 'retry', ...heldBy(row), inMs, delayMs: backoffMs, error: failureNote(error) }
}

type Decision = DeadLetterCause | ReturnType<typeof nextWait>

function decide(
	retry: RetrySettings,
	row: ClaimedRow,
	error: unknown,
	verdict: Classification,
	chance: RandomSource,
): Decision {
	const failed = row.attempt - 1
	const previous = row.delayMs ?? retry.baseDelayMs
	// What somebody cancelled on the way was not refused by the other side, and a message has no caller that gave up on it.
	const meant: Classification = verdict.kind === 'cancelled' ? { ...verdict, kind: 'transient' } : verdict
	try {
		const stop = stopReason(retry, failed, error, meant)
		if (stop === 'retries-exhausted') return stop
		return stop === undefined ? nextWait(retry, failed, previous, error, meant, chance) : 'permanent'
	} catch {
		// A rule of the user's own threw. A message is not given up for that: the formula alone decides.
		if (failed >= retry.maxRetries) return 'retries-exhausted'
		return { delayMs: computeDelayMs(retry, failed, previous, chance), source: 'backoff' }
	}
}
