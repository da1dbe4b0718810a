/**
 * What happened to one call, written down from its first failure on. A call that never fails has no record, so the
 * success path pays for none. Records hang on errors and on settled results by weak references: nothing is put on the
 * user's objects, and nothing outlives them.
 */
import type { FailureKind } from '../classify/classification.ts'
import type { Runtime } from '../runtime/runtime.ts'

/**
 * Why nothing more was tried.
 *
 * `should-retry-false`: the user's own shouldRetry said no. `hook-threw`: a decision hook threw. `not-retried`: no
 * retry policy was there. `budget`: the retry budget had nothing left. `inner-retry`: a retry further in had given up.
 * `refused`: a policy did not let the call in. `fallback`: a fallback
 * answered. `timeout`: a timeout ended it. `interrupted`: a branch of a hedge lost.
 *
 * Of HTTP: `not-idempotent`: the request must not be sent twice. `body-used`: its body could be sent only once. `server-veto`: the
 * server forbade a retry. `retry-after`: it asked for a longer wait than is allowed.
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
	| 'retry-after'

/** Where a wait's length came from. */
export type DelaySource = 'backoff' | 'retry-after' | 'delay-for'

/** `unwanted-result`: the work returned, and `retryResult` would not have it. */
export type AttemptOutcome = 'success' | 'unwanted-result' | FailureKind

/** One attempt of a call. */
export interface AttemptRecord {
	/** From 0. */
	readonly attempt: number
	/** When it began, in milliseconds after the call did. */
	readonly startMs?: number
	/** How long it took. */
	readonly durationMs?: number
	readonly outcome: AttemptOutcome
	/** How long it had waited in queues before it began, if it had. */
	readonly queuedMs?: number
	readonly errorType?: string
	readonly errorMessage?: string
	/** How long the call then waited, or meant to wait when an abort came. */
	readonly delayMs?: number
	readonly delaySource?: DelaySource
}

/** A wait, and where its length came from. */
export interface RetryDelay {
	readonly delayMs: number
	readonly source: DelaySource
}

/** An attempt while it is written. Every field is there from the start, for one shape is faster than many. */
export interface AttemptEntry {
	/** A chain and not a list: half the bytes for the usual one or two. */
	readonly previous: AttemptEntry | undefined
	readonly attempt: number
	/** On the plan's clock; undefined when it was not read. */
	readonly startedAt: number | undefined
	readonly endedAt: number
	outcome: AttemptOutcome
	/** What was thrown. Results are not kept: a poll for a large one would hold them all. */
	readonly error: unknown
	delayMs: number | undefined
	delaySource: DelaySource | undefined
	/** How long it had waited in queues before it began; 0 or undefined when it had not. */
	readonly queuedMs: number | undefined
}

/** What `explain` reads: the call itself is its record. */
export interface CallRecord {
	readonly options: { readonly name?: string | undefined } | undefined
	readonly pipeline: { readonly name: string; readonly runtime: Runtime }
	/** When the last attempt began, or the call itself if there was none. */
	readonly startedAt: number | undefined
	readonly rare: { readonly endedAt?: number; readonly queuedMs?: number } | undefined
	readonly lastAttempt: AttemptEntry | undefined
	readonly stop: StopReason | undefined
	/** What it ended with. */
	readonly value: unknown
}

/**
 * Where a record is kept: in a private field of what the user holds, which nobody else can see and which goes when that goes. A
 * weak map says the same, but collectors of young objects take all that is in it for alive: every failed call was copied
 * twice, and that was half of the time of a service that was down. What can not be extended is in a map all the same, where an engine minds.
 */
class RecordField extends (ReturnArgument as unknown as new (held: object) => object) {
	#record: CallRecord

	constructor(held: object, record: CallRecord) {
		super(held)
		this.#record = record
	}

	static put(held: object, record: CallRecord): void {
		try {
			if (#record in held) held.#record = record
			else new RecordField(held, record)
		} catch {
			sealed.set(held, record)
		}
	}

	static get(held: object): CallRecord | undefined {
		return #record in held ? held.#record : sealed.get(held)
	}
}

const sealed = new WeakMap<object, CallRecord>()

/** A constructor that makes nothing new: what extends it puts its fields on whatever it is given. */
function ReturnArgument(held: object): object {
	return held
}

/** Lets `explain` find the record again by what the user holds. A primitive can not be found again: its box is not what they hold. */
export const attachRecord = (held: unknown, record: CallRecord): void => RecordField.put(Object(held), record)

export const findRecord = (held: unknown): CallRecord | undefined => RecordField.get(Object(held))
