import { describeError } from '../events/error-facts.ts'
import {
	type AttemptEntry,
	type AttemptRecord,
	type CallRecord,
	findRecord,
	type StopReason,
} from './record.ts'

/** What happened to one call. As a string it is readable in a log. */
export interface Explanation {
	/** The call's name, or its policy's. */
	readonly name?: string
	/** Wall time, milliseconds since 1970. Not measured in a call that never failed. */
	readonly startedAt?: number
	/** From the call to its answer. Not measured in a call that never failed. */
	readonly durationMs?: number
	readonly attempts: readonly AttemptRecord[]
	/** Why nothing more was tried. */
	readonly stop: StopReason
	/** What the call was refused with, if a policy did not let it in. */
	readonly errorType?: string
	readonly errorMessage?: string
	toString(): string
}

/**
 * Tells what happened to the call that ended in this error or gave this settled result: attempt by attempt, with the
 * reason of every wait and of the stop. Undefined for primitives and for errors that ended no call.
 *
 * An error object that ended several calls tells of the latest. A result of `settle` is exact.
 *
 * @example
 * const result = await payments.settle(() => charge(order))
 * console.log(String(explain(result)))
 */
export function explain(held: unknown): Explanation | undefined {
	const record = findRecord(held)
	if (record) return new CallExplanation(record)
	// No record was written for it: then it is a stranger, or the result of a call that never failed.
	return isSuccess(held) ? new CallExplanation() : undefined
}

const isSuccess = (held: unknown): boolean =>
	typeof held === 'object' && held !== null && 'ok' in held && held.ok === true && 'value' in held

class CallExplanation implements Explanation {
	declare readonly name?: string
	declare readonly startedAt?: number
	declare readonly durationMs?: number
	readonly attempts: readonly AttemptRecord[] = [{ attempt: 0, outcome: 'success' }]
	readonly stop: StopReason = 'success'
	declare readonly errorType?: string
	declare readonly errorMessage?: string

	constructor(record?: CallRecord) {
		if (!record) return
		const { options, pipeline, rare, stop, value } = record
		const { runtime } = pipeline
		const notes = attemptEntries(record)
		const [first] = notes
		const started = (first ?? record).startedAt
		const startedAt = started === undefined ? undefined : started - (first?.queuedMs ?? rare?.queuedMs ?? 0)
		this.name = options?.name ?? pipeline.name
		if (startedAt !== undefined) {
			this.startedAt = Math.round(runtime.wallNow() - (runtime.now() - startedAt))
			this.durationMs = (rare?.endedAt ?? startedAt) - startedAt
		}
		this.attempts = notes.map((note) => toAttemptRecord(note, startedAt))
		this.stop = stop ?? 'success'
		if (stop === 'rejected') Object.assign(this, describeError(value))
	}

	toString(): string {
		const { name, durationMs, attempts, stop, errorType, errorMessage } = this
		const count = `${attempts.length} attempt${attempts.length === 1 ? '' : 's'}`
		const took = durationMs === undefined ? '' : ` in ${ms(durationMs)}`
		const why = errorType === undefined ? '' : ` (${errorType}: ${errorMessage})`
		return [`${name ?? 'call'}: ${count}${took}, ended by ${stop}${why}`, ...attempts.map(attemptLine)].join(
			'\n',
		)
	}
}

function attemptEntries({ lastAttempt }: CallRecord): AttemptEntry[] {
	const notes: AttemptEntry[] = []
	for (let note = lastAttempt; note; note = note.previous) notes.push(note)
	return notes.reverse()
}

/** Leaves out what was not there or not measured. */
function toAttemptRecord(
	{ attempt, outcome, startedAt, endedAt, error, delayMs, delaySource, queuedMs }: AttemptEntry,
	from: number | undefined,
): AttemptRecord {
	return {
		attempt,
		...(startedAt === undefined || from === undefined ? {} : { startMs: startedAt - from }),
		...(startedAt === undefined ? {} : { durationMs: endedAt - startedAt }),
		outcome,
		...(queuedMs && { queuedMs }),
		...(outcome !== 'success' && outcome !== 'unwanted-result' && describeError(error)),
		...(delayMs !== undefined && { delayMs }),
		...(delaySource && { delaySource }),
	}
}

const ms = (value: number): string => `${Math.round(value)} ms`

function attemptLine({
	attempt,
	startMs,
	durationMs,
	outcome,
	queuedMs,
	errorType,
	errorMessage,
	delayMs,
	delaySource,
}: AttemptRecord): string {
	const at = startMs === undefined ? '' : ` at ${ms(startMs)}`
	const took = durationMs === undefined ? '' : `${at && ','} took ${ms(durationMs)}`
	const queued = queuedMs ? ` after ${ms(queuedMs)} in a queue` : ''
	const what = errorType === undefined ? '' : ` (${errorType}: ${errorMessage})`
	const wait = delayMs === undefined ? '' : `, then a wait of ${ms(delayMs)} (${delaySource})`
	return `  #${attempt + 1}${at}${queued}${took}: ${outcome}${what}${wait}`
}
