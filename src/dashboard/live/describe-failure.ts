/** What is shown of a call in which something failed. Read when its record is closed. */
import { safeGet } from '../../core/classify/safe-get.ts'
import type { Call } from '../../core/engine/call.ts'
import { describeError, toMessageText } from '../../core/events/error-facts.ts'
import type { ErrorFacts } from '../../core/events/events.ts'
import { type Explanation, explain } from '../../core/explain/explain.ts'
import { attachRecord, type CallRecord, type StopReason } from '../../core/explain/record.ts'
import { REJECTION } from '../../core/observe/observe-calls.ts'
import type { FailedCall } from '../contract.ts'
import { detached, MAX_ERROR_LENGTH, type ShownTexts } from './shown-texts.ts'

/** What a call counts as; undefined if it succeeded after a retry. */
export type FailureOutcome = FailedCall['outcome'] | undefined

const isRejection = (error: unknown): boolean => REJECTION.test(String(safeGet(error, 'code')))

export function outcomeOf({ ok, stop, rare, value, lastAttempt }: Call): FailureOutcome {
	if (ok) return rare?.isSubstituted ? 'fallback' : undefined
	if (!(stop === 'rejected' || (stop === 'cancelled' && isRejection(value)))) return 'failure'
	// An attempt before a rejected retry has failed.
	for (let entry = lastAttempt; entry; entry = entry.previous) if (!isRejection(entry.error)) return 'failure'
	return 'rejected'
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

/** What is kept of a failed call: bounded, and nothing of the program's objects. */
interface TakenFailure {
	readonly at: number
	readonly source: string
	readonly policy: string
	readonly key: string | undefined
	readonly call: string | undefined
	readonly method: string | undefined
	readonly outcome: FailedCall['outcome']
	readonly stop: StopReason
	readonly reason: string
	readonly attempts: number
	readonly error: ErrorFacts
	readonly explanation: TakenExplanation | undefined
}

interface TakenExplanation extends Omit<Explanation, 'inner' | 'toString'> {
	/** The number of all attempts: `attempts` has the first and the last ones. */
	readonly attemptCount: number
	readonly inner: TakenExplanation | undefined
}

/** Reads what is kept of a call; `at` is its end. */
export function takeFailure(
	call: Call,
	outcome: FailedCall['outcome'],
	source: string,
	at: { readonly now: number; readonly wallNow: number },
): TakenFailure {
	const { options, pipeline, attempt } = call
	const error = errorOf(call)
	const stop = outcome === 'fallback' ? 'fallback' : (call.stop ?? 'not-retried')
	const explanation = explain(recordOf(call, stop, error, at.now))
	return detached({
		at: at.wallNow,
		source,
		policy: toMessageText(pipeline.name),
		key: cut(options?.key),
		call: cut(options?.name),
		method: cut(options?.extension?.method),
		outcome,
		stop,
		reason: (outcome === 'rejected' && rejectionReason(error)) || stop,
		attempts: outcome === 'rejected' ? 0 : attempt + 1,
		error: cutFacts(describeError(error)),
		explanation: explanation && takeExplanation(explanation, 1),
	})
}

/** Returns the call as it is shown: without secrets, each text on one line. */
export function showFailure(taken: TakenFailure, texts: ShownTexts): Omit<FailedCall, 'number'> {
	const { policy, key, call, method, error, explanation } = taken
	return {
		...taken,
		policy: texts.text(policy, 'emitter'),
		key: texts.name(key, 'key'),
		call: texts.name(call, 'call'),
		method: texts.name(method, 'method'),
		durationMs: explanation?.durationMs ?? null,
		error: texts.errorFacts(error),
		explanation: explanation ? linesOf(explanation, texts) : [],
	}
}

const cut = (text: string | undefined): string | undefined =>
	text === undefined ? undefined : toMessageText(text)

/**
 * Returns an object that `explain` accepts. Not the error: it may be a primitive, or have ended another call
 * since. A call with a fallback has succeeded, so its record is not closed.
 */
function recordOf(call: Call, stop: StopReason, error: unknown, now: number): object {
	const { options, pipeline, startedAt, rare, queuedMs, lastAttempt } = call
	const record: CallRecord = {
		options,
		pipeline,
		startedAt,
		rare: call.ok ? { ...rare, endedAt: now } : rare,
		queuedMs,
		lastAttempt,
		stop,
		value: error,
	}
	const carrier = {}
	attachRecord(carrier, record)
	return carrier
}

/** A call may have any number of attempts: the first and the last ones are shown. */
const SHOWN_ATTEMPTS = 6

/** Calls inside calls, each with retries of its own. */
const MAX_DEPTH = 3

function takeExplanation(explanation: Explanation, depth: number): TakenExplanation {
	const { attempts, inner } = explanation
	const shown =
		attempts.length > 2 * SHOWN_ATTEMPTS
			? [...attempts.slice(0, SHOWN_ATTEMPTS), ...attempts.slice(-SHOWN_ATTEMPTS)]
			: attempts
	return {
		...cutFacts(explanation),
		attempts: shown.map(cutFacts),
		attemptCount: attempts.length,
		inner: inner && depth < MAX_DEPTH ? takeExplanation(inner, depth + 1) : undefined,
	}
}

/** Returns the lines of `explain`. Each text in it is cleaned first, so that no text can add a line. */
function linesOf({ inner, ...taken }: TakenExplanation, texts: ShownTexts): string[] {
	const format = explain({ ok: true, value: undefined })?.toString ?? String
	const clean = <Facts extends object>(facts: Facts) =>
		mapTexts(facts, (text, field) => texts.text(text, field, MAX_ERROR_LENGTH))
	const linesWith = (attempts: readonly unknown[]) => format.call({ ...clean(taken), attempts }).split('\n')
	const { attempts, attemptCount } = taken
	const omitted = attemptCount - attempts.length
	const lines = [
		// The first line has the number of all attempts.
		linesWith(new Array(attemptCount))[0] ?? '',
		...linesWith(attempts.map(clean)).slice(1),
	]
	if (omitted > 0) lines.splice(1 + SHOWN_ATTEMPTS, 0, `  (${omitted} more)`)
	return inner ? [...lines, 'inside:', ...linesOf(inner, texts)] : lines
}

const TEXTS = ['name', 'hint', 'errorType', 'errorMessage'] as const

function mapTexts<Facts extends object>(facts: Facts, map: (text: string, field: string) => string): Facts {
	const mapped = { ...facts } as Record<string, unknown>
	for (const field of TEXTS) {
		const text = mapped[field]
		if (typeof text === 'string') mapped[field] = map(text, field)
	}
	return mapped as Facts
}

/** URLs are reduced before a text is cut: a cut URL may end within its password. */
const cutFacts = <Facts extends object>(facts: Facts): Facts => mapTexts(facts, (text) => toMessageText(text))
