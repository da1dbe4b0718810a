/** What is asked of dead letters, and what is answered. */
import type { DeadLetterCause } from '../message/message.ts'

/** Which part of a list. */
export interface PageOptions {
	/** At most so many. Default 100. */
	readonly limit?: number | undefined
	/** Goes on after the message with this id. */
	readonly after?: string | undefined
}

/** How far is counted, or how many are shown. */
export interface LimitOptions {
	readonly limit?: number | undefined
}

/** For what is done with many dead letters, a batch at a time. */
export interface BatchOptions {
	/** Says that a filter without any condition is meant: every dead letter. Default false. */
	readonly all?: boolean | undefined
	/** Told after every batch. What it throws is a warning on the console. */
	readonly onProgress?: ((progress: BatchProgress) => void) | undefined
	/** Ends it before the next batch, and a canary's wait at once. What was done is done, and the report tells how much. */
	readonly signal?: AbortSignal | undefined
}

interface BatchProgress {
	/** How many there were so far. */
	readonly done: number
}

/** How dead letters are put back into the queue. */
export interface ReplayOptions extends BatchOptions {
	/** First 1, then 10, then the rest, each only after the ones before were heard of; stops when they fail the same way again. Default false. */
	readonly canary?: boolean | undefined
	/** How long a canary waits for those that it replayed. Default 60,000. */
	readonly timeoutMs?: number | undefined
}

/** Why a replay did not go on to its end. */
export type ReplayStop =
	/** At least one failed as it had failed before. */
	| 'same-failure'
	/** At least one became a dead letter again, for another reason than before. */
	| 'dead-again'
	/** Not all of a canary's messages were heard of in time. */
	| 'nothing-heard'
	/** The caller's signal. */
	| 'aborted'

/** What became of a replay. */
export interface ReplayReport {
	/** How many are in the queue again, or were. */
	readonly replayed: number
	/** Did it end before all that match were replayed? */
	readonly stopped: boolean
	/** What stopped it, for programs; undefined when nothing did. */
	readonly stoppedBy: ReplayStop | undefined
	/** The same as a sentence, with what to do. */
	readonly reason: string | undefined
	/** The canary's messages that failed as before. */
	readonly sameFailure: readonly string[]
}

/** What became of discarding. */
export interface DiscardReport {
	readonly discarded: number
	/** Did the caller's signal end it before all that match were discarded? */
	readonly stopped: boolean
}

/** Dead letters of one kind of failure at one destination. */
export interface DeadLetterGroup {
	/** As the filter's `fingerprint` it chooses those of this kind; with `cause` and `destination` exactly this group. */
	readonly fingerprint: string
	readonly cause: DeadLetterCause
	readonly destination: string
	readonly errorType: string | undefined
	readonly errorMessage: string | undefined
	readonly count: number
	readonly firstAt: Date
	readonly lastAt: Date
	/** The oldest of them. */
	readonly exampleId: string
}

/** What a dead letter is given in the place of what it had, before it is replayed. Null removes it. */
export interface DeadLetterChanges {
	readonly payload?: unknown
	readonly headers?: Readonly<Record<string, string>> | null | undefined
	readonly destination?: string | undefined
	readonly expiresAt?: Date | null | undefined
	readonly maxRetries?: number | null | undefined
}
