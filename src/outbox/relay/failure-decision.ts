/**
 * Decides what follows a failed delivery, with the same rules as a failed call in core; but the result is
 * stored and not awaited. Pure. Rules of the user may throw; the decision is then made as if the rule did not
 * exist, because a message must not be lost to a bug in a rule.
 */

import { computeDelayMs, type RandomSource } from '../../core/backoff/formula.ts'
import type { Classification } from '../../core/classify/classification.ts'
import { readSignals } from '../../core/classify/error-signals.ts'
import { isMarkedPermanent } from '../../core/classify/permanent.ts'
import { nextWait, stopReason } from '../../core/retry/decision.ts'
import type { RetrySettings } from '../../core/retry/options.ts'
import { isDestinationDisabled, isWithoutSecret } from '../destinations/destination.ts'
import type { DeadLetterCause } from '../message/message.ts'
import { toRetryLimit } from '../message/record.ts'
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

/** Returns true if the error counts as a failure of the destination, and not only of the message. */
export function countsAsFailure(
	settings: DestinationSettings,
	error: unknown,
	{ kind }: Classification,
): boolean {
	return ownVerdict(settings, error) ?? (kind === 'throttled' || kind === 'transient')
}

/** Returns the result of the user's `isFailure`; undefined without one, or if it throws. */
function ownVerdict({ circuitBreaker: breaker }: DestinationSettings, error: unknown): boolean | undefined {
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
		type: 'dead',
		...claimRef(row),
		cause,
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

/** Returns true if a message becomes a dead letter because of its error. */
export const isPermanent = (settlement: Settlement): boolean =>
	settlement.type === 'dead' && settlement.cause === 'permanent'

/**
 * Returns true for a retry after which a failure makes the message a dead letter. It is not sent in a batch,
 * which may fail because of another message.
 */
export const isLastRetry = (row: ClaimedRow, { retry }: DestinationSettings): boolean =>
	row.attempt > 1 && row.attempt > (toRetryLimit(row.maxRetries) ?? retry.maxRetries)

/**
 * A permanent failure that concerns the destination and not the message. A dead letter would be wrong there:
 * after an expired certificate, every message of the destination would become one within seconds.
 *
 * `rejected`: a permanent failure that may concern the message or the destination. Only
 * several different messages show which.
 */
export type DestinationFault = 'certificate' | 'credentials' | 'disabled' | 'rejected'

/** A response, whatever its error code is named. */
const STATUS = /^http /m
const CREDENTIALS = /^(http 40[13]|grpc (7|16)|code (\w+\/)?(unauthenticated|permission.denied))$/im
const CERTIFICATE =
	/(^|_)(cert(ificate)?|crl)(_|$)|leaf_signature$|^invalid_(ca|purpose)$|^hostname_mismatch$|(self.signed|first|peer|issuer) cert|certificate('s)? (has exp|altn)/im
/** The handshake failed for another reason, such as a protocol version. The classifier calls it transient. */
const HANDSHAKE = /^(err_ssl_\w+|eproto)$/im

/**
 * Returns what is wrong with the destination. Undefined if the failure is temporary, or if `isFailure` says
 * that it is not the destination's. `settlement` is what would happen to the message.
 */
export function findDestinationFault(
	settings: DestinationSettings,
	error: unknown,
	{ kind }: Classification,
	settlement: Settlement,
): DestinationFault | undefined {
	if (isDestinationDisabled(error)) return 'disabled'
	if (isWithoutSecret(error)) return 'credentials'
	const isFinal = isPermanent(settlement)
	if (!isFinal && kind !== 'transient') return undefined
	if (ownVerdict(settings, error) === false) return undefined
	const text = readText(error)
	const hasStatus = STATUS.test(text)
	if (!isFinal) return !hasStatus && HANDSHAKE.test(text) ? 'certificate' : undefined
	// User code says that the message is wrong.
	if (isMarkedPermanent(Object(error))) return 'rejected'
	if (CREDENTIALS.test(text)) return 'credentials'
	return !hasStatus && CERTIFICATE.test(text) ? 'certificate' : 'rejected'
}

function readText(error: unknown): string {
	try {
		return readSignals(error).text
	} catch {
		// A getter or a proxy of the error threw.
		return ''
	}
}
