/**
 * The record of one call, written from its first failure on. A call without a failure has no record, so the
 * success path does not pay for one. Records are attached to errors and settled results by private fields:
 * nothing is visible on the user's objects, and no record outlives them.
 */
import type { FailureKind } from '../classify/classification.ts'
import type { Runtime } from '../runtime/runtime.ts'

/**
 * Why a call made no more attempts. Read it as `explain(error)?.stop`, or as `stop` of the events `call` and
 * `retry_failure`.
 *
 * - `success`: the call succeeded. `fallback`: a fallback replaced the failure.
 * - `retries-exhausted`: `maxRetries` was reached. `elapsed-limit`: `maxElapsedMs` was reached. `budget`: the
 *   retry budget was exhausted. `deadline`: the next attempt would have been too late. `timeout`: a timeout
 *   ended the call. `retry-after`: the dependency asked for a longer wait than allowed.
 * - `permanent`, `cancelled`: the kind of the failure. `should-retry-false`: `shouldRetry` returned false.
 *   `hook-threw`: a decision hook threw. `abort`: the caller aborted.
 * - `not-retried`: the pipeline has no retry policy. `inner-retry`: the retries of an inner policy or call
 *   are exhausted.
 * - `rejected`: a policy rejected the call. `interrupted`: another request ended a hedged call.
 * - HTTP only: `not-idempotent`: the request must not be sent twice. `body-used`: its body can be sent only
 *   once. `server-veto`: the server forbade a retry (gRPC too).
 * - gRPC only: `committed`: the response had begun, or the messages no longer fit into the buffer.
 */
export type StopReason =
	| 'success'
	| 'retries-exhausted'
	| 'permanent'
	| 'cancelled'
	| 'should-retry-false'
	| 'deadline'
	| 'elapsed-limit'
	| 'abort'
	| 'hook-threw'
	| 'not-retried'
	| 'budget'
	| 'inner-retry'
	| 'rejected'
	| 'fallback'
	| 'timeout'
	| 'interrupted'
	| 'not-idempotent'
	| 'body-used'
	| 'server-veto'
	| 'committed'
	| 'retry-after'

/** What determined a delay. `immediate`: no delay, because the request was changed. */
export type DelaySource = 'backoff' | 'retry-after' | 'delay-for' | 'immediate'

/**
 * How an attempt ended. `unwanted-result`: the operation returned a value, and `retryResult` asked for a
 * retry.
 */
export type AttemptOutcome = 'success' | 'unwanted-result' | FailureKind

/**
 * One attempt of a call, with its outcome and the delay after it: an element of `explain(error)?.attempts`.
 */
export interface AttemptRecord {
	/** Counted from 1. */
	readonly attempt: number
	/** The start, in milliseconds after the start of the call. */
	readonly startMs?: number
	/** The duration of the attempt. */
	readonly durationMs?: number
	readonly outcome: AttemptOutcome
	/** The time in queues before the attempt, if any. */
	readonly queuedMs?: number
	readonly errorType?: string
	readonly errorMessage?: string
	/** The delay before the next attempt, as scheduled: an abort may have ended it early. */
	readonly delayMs?: number
	readonly delaySource?: DelaySource
}

/** A delay and what determined it. */
export interface RetryDelay {
	readonly delayMs: number
	readonly source: DelaySource
}

/** An attempt while its record is written. All fields exist from the start, for one object shape. */
export interface AttemptEntry {
	/** A linked list, not an array: half the bytes for the usual one or two attempts. */
	readonly previous: AttemptEntry | undefined
	/** Counted from 0. */
	readonly attempt: number
	/** When it began, on the pipeline's clock; undefined if the clock was not read. */
	readonly startedAt: number | undefined
	readonly endedAt: number
	outcome: AttemptOutcome
	/**
	 * The thrown value. Results are not stored: a call that polls for a large result would hold all of them.
	 */
	readonly error: unknown
	delayMs: number | undefined
	delaySource: DelaySource | undefined
	/** The time in queues before the attempt; 0 or undefined without one. */
	readonly queuedMs: number | undefined
}

/** What the record of a call has beyond its attempts. */
interface RecordedFacts {
	readonly endedAt?: number
	readonly hint?: string
	/** The number of the start of the retry that decided that this failure is final. */
	readonly finalSince?: number
	/** The call inside this one that ended with the same failure after its retries were exhausted. */
	readonly inner?: CallRecord
}

/** The part of a call that `explain` reads: the call object itself is the record. */
export interface CallRecord {
	readonly options: { readonly name?: string | undefined } | undefined
	readonly pipeline: { readonly name: string; readonly runtime: Runtime }
	/** The start of the last attempt, or of the call if there was no attempt. */
	readonly startedAt: number | undefined
	readonly rare: RecordedFacts | undefined
	/** How long the next attempt has waited in queues. */
	readonly queuedMs?: number | undefined
	readonly lastAttempt: AttemptEntry | undefined
	readonly stop: StopReason | undefined
	/** The result or error of the call. */
	readonly value: unknown
}

/**
 * Stores a record in a private field of the user's object. The field is invisible and is collected with the
 * object. A WeakMap would do the same, but V8's young-generation collector treats its entries as alive: every
 * failed call was copied twice, which took half the time of a service that was down. Objects that reject
 * private fields (non-extensible ones, in some engines) are stored in a WeakMap.
 */
class RecordField extends (ReturnArgument as unknown as new (target: object) => object) {
	#record: CallRecord

	constructor(target: object, record: CallRecord) {
		super(target)
		this.#record = record
	}

	static set(target: object, record: CallRecord): void {
		try {
			if (#record in target) target.#record = record
			else new RecordField(target, record)
		} catch {
			nonExtensible.set(target, record)
		}
	}

	static get(target: object): CallRecord | undefined {
		return #record in target ? target.#record : nonExtensible.get(target)
	}
}

const nonExtensible = new WeakMap<object, CallRecord>()

/** A constructor that returns its argument, so that a subclass adds its fields to that object. */
function ReturnArgument(target: object): object {
	return target
}

/** Attaches the record to an error or result, for `explain`. It has no effect on a primitive. */
export const attachRecord = (target: unknown, record: CallRecord): void =>
	RecordField.set(Object(target), record)

export const findRecord = (target: unknown): CallRecord | undefined => RecordField.get(Object(target))

/** Lets `explain` find the record of `from`, if it has one, by another error or result too. */
export function copyRecord(from: unknown, to: unknown): void {
	const record = findRecord(from)
	if (record) attachRecord(to, record)
}
