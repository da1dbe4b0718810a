/**
 * What is kept of a call in which something failed: bounded, and nothing of the program's objects. It is taken
 * when the call ends, so it must be cheap; texts are described, redacted and formatted when a viewer looks.
 */
import { safeGet } from '../../core/classify/safe-get.ts'
import type { Call } from '../../core/engine/call.ts'
import { toMessageText } from '../../core/events/error-facts.ts'
import type { AttemptEntry, CallRecord, StopReason } from '../../core/explain/record.ts'
import { REJECTION } from '../../core/observe/observe-calls.ts'
import type { FailedCall } from '../contract.ts'

/** What a call counts as; undefined if it succeeded after a retry. */
export type FailureOutcome = FailedCall['outcome'] | undefined

const isRejection = (error: unknown): boolean => REJECTION.test(String(safeGet(error, 'code')))

export function outcomeOf({ ok, stop, rare, value, lastAttempt }: Call): FailureOutcome {
	if (ok) return rare?.isSubstituted ? 'fallback' : undefined
	if (!(stop === 'rejected' || (stop === 'cancelled' && isRejection(value)))) return 'failure'
	// An attempt before a rejected retry has failed.
	return isEveryRejected(lastAttempt) ? 'rejected' : 'failure'
}

/** True if policies rejected each attempt, also if a fallback replaced the error: the call says nothing about the dependency. */
export const isOnlyRejected = ({ lastAttempt }: Call, outcome: FailureOutcome): boolean =>
	outcome === 'rejected' ||
	(outcome === 'fallback' && lastAttempt !== undefined && isEveryRejected(lastAttempt))

function isEveryRejected(last: AttemptEntry | undefined): boolean {
	for (let entry = last; entry; entry = entry.previous) if (!isRejection(entry.error)) return false
	return true
}

/** Returns the error of a call; of one with a fallback the error that it replaced. */
export const errorOf = ({ ok, value, lastAttempt }: Call): unknown => (ok ? lastAttempt?.error : value)

/** Returns the reason as in the event `rejected`; undefined if no policy rejected the call. */
export function rejectionReason(error: unknown): string | undefined {
	switch (safeGet(error, 'code')) {
		case 'YAOKI_CIRCUIT_OPEN':
			return safeGet(error, 'retryAfterMs') === Infinity ? 'isolated' : 'circuit-open'
		case 'YAOKI_BULKHEAD_REJECTED':
			return safeGet(error, 'reason') === 'queue-timeout' ? 'queue-timeout' : 'bulkhead-full'
		case 'YAOKI_RATE_LIMITED':
			return 'rate-limited'
		default:
			return undefined
	}
}

/** False for failures that say nothing about the dependency: they are permanent, or the caller aborted. */
export function isUnhealthy({ stop, lastAttempt }: Call): boolean {
	const kind = lastAttempt?.outcome
	return stop !== 'abort' && kind !== 'permanent' && kind !== 'cancelled'
}

/** A record without the program's objects. `explain` reads it as it reads the record of the call. */
export interface TakenRecord extends CallRecord {
	readonly rare: { readonly endedAt?: number; hint?: string; readonly inner?: TakenRecord }
	/** The number of all attempts: the list has the first and the last ones. */
	readonly attemptCount: number
}

export interface TakenFailure {
	readonly at: number
	readonly source: string
	readonly key: string | undefined
	readonly method: string | undefined
	readonly outcome: FailedCall['outcome']
	/** The reason of a rejection. */
	readonly rejection: string | undefined
	readonly attempts: number
	readonly record: TakenRecord
}

/** A call may have any number of attempts: so many of the first and of the last ones are kept. */
export const SHOWN_ATTEMPTS = 6

/** Calls inside calls, each with retries of its own. */
const MAX_DEPTH = 3

/** Reads what is kept of a call whose record is closed. */
export function takeFailure(
	call: Call,
	outcome: FailedCall['outcome'],
	source: string,
	at: { readonly now: number; readonly wallNow: number },
): TakenFailure {
	const { options, ok } = call
	const error = errorOf(call)
	return {
		at: at.wallNow,
		source,
		key: takeOptional(options?.key),
		method: options?.extension?.method,
		outcome,
		rejection: outcome === 'rejected' ? rejectionReason(error) : undefined,
		attempts: outcome === 'rejected' ? 0 : call.attempt + 1,
		record: takeRecord(call, error, outcome === 'fallback' ? outcome : call.stop, ok ? at.now : undefined, 1),
	}
}

/** `endedAt` is the end of a call with a fallback: it has succeeded, so its record has none. */
function takeRecord(
	call: CallRecord,
	error: unknown,
	stop: StopReason = 'not-retried',
	endedAt: number | undefined,
	depth: number,
): TakenRecord {
	const { options, pipeline, rare, lastAttempt, startedAt, queuedMs } = call
	const value = takeError(error)
	const { list, count } = takeAttempts(lastAttempt, error, value)
	const inner = stop === 'inner-retry' && depth < MAX_DEPTH ? rare?.inner : undefined
	const ended = endedAt ?? rare?.endedAt
	return {
		options: options?.name === undefined ? undefined : { name: takeText(options.name) },
		pipeline: { name: pipeline.name, runtime: pipeline.runtime },
		startedAt,
		rare: {
			...(ended !== undefined && { endedAt: ended }),
			...(rare?.hint !== undefined && { hint: takeText(rare.hint) }),
			...(inner && { inner: takeRecord(inner, inner.value, inner.stop, undefined, depth + 1) }),
		},
		queuedMs,
		lastAttempt: list,
		stop,
		value,
		attemptCount: count,
	}
}

/** `error` is the error of the call and usually of its last attempt, and `taken` what is kept of it. */
function takeAttempts(
	last: AttemptEntry | undefined,
	error: unknown,
	taken: unknown,
): { readonly list: AttemptEntry | undefined; readonly count: number } {
	const kept: AttemptEntry[] = []
	let count = 0
	for (let entry = last; entry; entry = entry.previous) {
		// Newest first. Once both ends are full, an older one takes the place of the newest among the first ones.
		if (kept.length === 2 * SHOWN_ATTEMPTS) kept.splice(SHOWN_ATTEMPTS, 1)
		kept.push(entry)
		count++
	}
	let list: AttemptEntry | undefined
	for (const entry of kept.reverse())
		list = {
			...entry,
			previous: list,
			error: entry.error === error ? taken : takeError(entry.error),
		}
	return { list, count }
}

/** Returns an object with the texts that `describeError` reads. The error itself may hold a whole response. */
function takeError(error: unknown): unknown {
	try {
		// A primitive is described by its type.
		if (typeof error === 'string') return takeText(error)
		if (typeof error !== 'object' || error === null)
			return typeof error === 'function' ? { name: 'function', message: takeText(error) } : error
		const { name, message, cause, errors } = error as Partial<AggregateError>
		const inner = cause ?? errors?.[0]
		return {
			name: takeText(name ?? 'object'),
			message: takeText(message ?? ''),
			...(inner !== undefined && { cause: takeCause(inner) }),
		}
	} catch {
		return { name: 'object', message: '' }
	}
}

function takeCause(cause: unknown): object {
	const { code, message } = Object(cause)
	return {
		code: code === undefined || code === null ? undefined : takeText(code),
		message: message === undefined || message === null ? undefined : takeText(message),
	}
}

const takeOptional = (text: string | undefined): string | undefined =>
	text === undefined ? undefined : takeText(text)

/** Longer texts are reduced when they are taken: a URL that is cut may end within its password. */
const MAX_TAKEN_LENGTH = 2_000

/** V8 copies parts of a text only up to this length. Longer ones refer to the whole text. */
const MAX_COPIED_LENGTH = 12

/**
 * Returns a text that shares no memory with another: an error that quotes 100 characters of a response would
 * keep the response. A text that is joined is written anew before a part of it is taken.
 */
function takeText(value: unknown): string {
	const text = String(value)
	if (text.length <= MAX_COPIED_LENGTH) return text
	return ` ${text.length > MAX_TAKEN_LENGTH ? toMessageText(text) : text}`.slice(1)
}
