/** What is shown of a call in which something failed. Read when its record is closed. */
import { safeGet } from '../../core/classify/safe-get.ts'
import type { Call } from '../../core/engine/call.ts'
import { type Explanation, explain } from '../../core/explain/explain.ts'
import { attachRecord, type CallRecord } from '../../core/explain/record.ts'
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

/** Returns the call as it is shown; `at` is its end. */
export function describeFailure(
	call: Call,
	outcome: NonNullable<FailureOutcome>,
	source: string,
	at: { readonly now: number; readonly wallNow: number },
	texts: ShownTexts,
): Omit<FailedCall, 'number'> {
	const { options, pipeline, attempt } = call
	const error = errorOf(call)
	const stop = outcome === 'fallback' ? 'fallback' : (call.stop ?? 'not-retried')
	const explanation = explain(recordOf(call, stop, error, at.now))
	return detached({
		at: at.wallNow,
		source,
		policy: texts.text(pipeline.name, 'emitter'),
		key: texts.name(options?.key, 'key'),
		call: texts.name(options?.name, 'call'),
		method: texts.name(options?.extension?.method, 'method'),
		outcome,
		stop,
		reason: (outcome === 'rejected' && rejectionReason(error)) || stop,
		attempts: outcome === 'rejected' ? 0 : attempt + 1,
		durationMs: explanation?.durationMs ?? null,
		error: texts.error(error),
		explanation: explanation ? linesOf(explanation, texts) : [],
	})
}

/**
 * Returns an object that `explain` accepts. Not the error: it may be a primitive, or have ended another call
 * since. A call with a fallback has succeeded, so its record is not closed.
 */
function recordOf(call: Call, stop: FailedCall['stop'], error: unknown, now: number): object {
	const { options, pipeline, startedAt, rare, queuedMs, lastAttempt } = call
	const record: CallRecord = {
		options,
		pipeline,
		startedAt,
		rare: call.ok ? { ...rare, endedAt: now } : rare,
		queuedMs,
		lastAttempt,
		stop: stop as CallRecord['stop'],
		value: error,
	}
	const carrier = {}
	attachRecord(carrier, record)
	return carrier
}

/** A call may have any number of attempts: the first and the last ones are shown. */
const FIRST_ATTEMPTS = 6
const LAST_ATTEMPTS = 6

/** Calls inside calls, each with retries of its own. */
const MAX_DEPTH = 3

/** Returns the lines of an explanation. Each text in it is cleaned first, so that no text can add a line. */
function linesOf(explanation: Explanation, texts: ShownTexts, depth = 1): string[] {
	const { inner, attempts } = explanation
	const cleaned: Explanation = { ...cleanedFacts(explanation, texts), attempts: [] }
	const omitted = Math.max(0, attempts.length - FIRST_ATTEMPTS - LAST_ATTEMPTS)
	const [head = ''] = formatted({ ...cleaned, attempts: new Array(attempts.length) })
	const lines = [head]
	for (const [index, attempt] of attempts.entries()) {
		if (index === FIRST_ATTEMPTS && omitted > 0) lines.push(`  (${omitted} more)`)
		if (index >= FIRST_ATTEMPTS && index < FIRST_ATTEMPTS + omitted) continue
		lines.push(...formatted({ ...cleaned, attempts: [cleanedFacts(attempt, texts)] }).slice(1))
	}
	if (!inner) return lines
	return depth < MAX_DEPTH ? [...lines, 'inside:', ...linesOf(inner, texts, depth + 1)] : lines
}

/** The text of an explanation with these fields. */
const formatted = (explanation: Explanation): string[] => explanation.toString.call(explanation).split('\n')

const TEXTS = ['name', 'hint', 'errorType', 'errorMessage'] as const

function cleanedFacts<Facts extends object>(facts: Facts, texts: ShownTexts): Facts {
	const cleaned: Record<string, unknown> = { ...facts, inner: undefined, toString: facts.toString }
	for (const field of TEXTS) {
		const text = cleaned[field]
		if (typeof text === 'string') cleaned[field] = texts.text(text, field, MAX_ERROR_LENGTH)
	}
	return cleaned as Facts
}
