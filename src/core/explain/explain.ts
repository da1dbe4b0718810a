import { findInCauses, safeGet } from '../classify/safe-get.ts'
import { describeError } from '../events/error-facts.ts'
import type { ErrorFacts } from '../events/events.ts'
import { findRecordOfError } from './exhausted-retries.ts'
import type { AttemptEntry, AttemptRecord, CallRecord, StopReason } from './record.ts'

/** The history of one call, which `explain(error)` returns. `String(explanation)` is a text for logs. */
export interface Explanation {
	/** The name of the call or, without one, of its policy. */
	readonly name?: string
	/**
	 * Wall time, milliseconds since 1970. Not measured if no attempt failed, nor after 100 consecutive
	 * successes without `exactTimes`.
	 */
	readonly startedAt?: number
	/** The duration of the whole call. Not measured if `startedAt` is not. */
	readonly durationMs?: number
	readonly attempts: readonly AttemptRecord[]
	/** Why there were no more attempts. */
	readonly stop: StopReason
	/** Why a request was not retried and what to do, if that is known. */
	readonly hint?: string
	/** The call inside this one whose retries are exhausted, if that is why this one stopped. */
	readonly inner?: Explanation
	/** The name of the error, if a policy rejected the call. */
	readonly errorType?: string
	/** The message of the error, if a policy rejected the call. */
	readonly errorMessage?: string
	toString(): string
}

/**
 * Returns what happened to the call that ended with this error or settled result: every attempt, the reason
 * for every delay and the reason for the stop. An error of your own with a `cause` that ended a call is
 * explained by that call. Returns undefined for primitives and for errors that did not end a call.
 *
 * If the same error object ended several calls, the latest call is explained. A result of `settle`
 * is exact.
 *
 * @example
 * const result = await policy.settle(() => loadUser(id))
 * console.log(String(explain(result)))
 */
export function explain(errorOrSettled: unknown): Explanation | undefined {
	const record = findInCauses(errorOrSettled, findRecordOfError)
	if (record) return new CallExplanation(record)
	// A call without a failure has no record.
	const isSuccess = safeGet(errorOrSettled, 'ok') === true && 'value' in Object(errorOrSettled)
	return isSuccess ? new CallExplanation() : undefined
}

class CallExplanation implements Explanation {
	declare readonly name?: string
	declare readonly startedAt?: number
	declare readonly durationMs?: number
	readonly attempts: readonly AttemptRecord[] = [{ attempt: 1, outcome: 'success' }]
	readonly stop: StopReason = 'success'
	declare readonly hint?: string
	declare readonly inner?: Explanation
	declare readonly errorType?: string
	declare readonly errorMessage?: string

	constructor(record?: CallRecord) {
		if (!record) return
		const { options, pipeline, rare, stop, value } = record
		const { runtime } = pipeline
		const entries = listAttempts(record)
		const [first] = entries
		const { startedAt: started, queuedMs = 0 } = first ?? record
		const startedAt = started && started - queuedMs
		this.name = options?.name ?? pipeline.name
		if (startedAt !== undefined) {
			this.startedAt = Math.round(runtime.wallNow() - (runtime.now() - startedAt))
			this.durationMs = (rare?.endedAt ?? startedAt) - startedAt
		}
		this.attempts = entries.map((entry) => toAttemptRecord(entry, startedAt))
		this.stop = stop ?? 'success'
		if (rare?.hint) this.hint = rare.hint
		if (stop === 'inner-retry' && rare?.inner) this.inner = new CallExplanation(rare.inner)
		if (stop === 'rejected') Object.assign(this, describeError(value))
	}

	toString(): string {
		const { name = 'call', durationMs, attempts, stop, hint, inner } = this
		const count = `${attempts.length} attempt${attempts.length === 1 ? '' : 's'}`
		const untimed = stop === 'success' ? '' : ' (start not measured: set exactTimes)'
		const took = formatMs('in', durationMs).slice(1) || untimed
		const end =
			stop === 'success' ? 'succeeded' : `stopped: ${stop}${formatError(this)}${hint ? ` (${hint})` : ''}`
		const lines = [`${name}: ${count}${took}, ${end}`, ...attempts.map(formatAttempt)]
		if (inner) lines.push(`inside: ${inner}`)
		return lines.join('\n')
	}
}

function listAttempts({ lastAttempt }: CallRecord): AttemptEntry[] {
	const entries: AttemptEntry[] = []
	for (let entry = lastAttempt; entry; entry = entry.previous) entries.push(entry)
	return entries.reverse()
}

/** Omits what does not exist or was not measured. */
function toAttemptRecord(
	{ attempt, outcome, startedAt, endedAt, error, delayMs, delaySource, queuedMs }: AttemptEntry,
	callStartedAt: number | undefined,
): AttemptRecord {
	return {
		attempt: attempt + 1,
		...(startedAt !== undefined && {
			...(callStartedAt !== undefined && { startMs: startedAt - callStartedAt }),
			durationMs: endedAt - startedAt,
		}),
		outcome,
		...(queuedMs && { queuedMs }),
		...(outcome !== 'success' && outcome !== 'unwanted-result' && describeError(error)),
		// A wait has both.
		...(delaySource && { delayMs: delayMs as number, delaySource }),
	}
}

function formatAttempt(record: AttemptRecord): string {
	const { attempt, startMs, durationMs, outcome, queuedMs, delayMs, delaySource } = record
	const times = formatMs('at', startMs) + formatMs('queued', queuedMs) + formatMs('took', durationMs)
	const wait = formatMs('retry in', delayMs)
	const retry = delaySource === 'immediate' ? ', repeated immediately' : wait && `${wait} (${delaySource})`
	return `  #${attempt}${times.slice(1)}: ${outcome}${formatError(record)}${retry}`
}

const formatError = ({ errorType, errorMessage }: ErrorFacts): string =>
	errorType ? ` (${errorType}: ${errorMessage})` : ''

/** Returns a part of a list, with the comma before it. */
const formatMs = (what: string, value: number | undefined): string =>
	value === undefined ? '' : `, ${what} ${Math.round(value)} ms`
