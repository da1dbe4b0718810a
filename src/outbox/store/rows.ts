/**
 * What goes in and out of a store: plain values, texts that are JSON already, times in milliseconds since 1970 by the database's
 * clock. Whoever decides something decides on these; only a store knows SQL.
 */
import type { CircuitState } from '../../core/events/events.ts'
import type { DeadLetterCause, MessageStatus, StoredError } from '../message/message.ts'

/** A message to be written. It was checked: every text is well-formed and without NUL, the payload is JSON and not too long. */
export interface NewRow {
	/** A UUID of version 7, in lower case. */
	readonly id: string
	readonly topic: string
	readonly destination: string
	readonly key: string | null
	/** JSON. */
	readonly payload: string
	/** JSON, an object of texts. */
	readonly headers: string | null
	readonly dedupeKey: string | null
	/** Null means now. */
	readonly notBefore: number | null
	readonly expiresAt: number | null
	readonly maxRetries: number | null
}

export interface InsertResult {
	/** Of rows that were not written, for their dedupe key is taken: by their id, the id of the message that has it. */
	readonly duplicates: ReadonlyMap<string, string>
	/** Was it inside of a transaction that somebody else commits? Undefined when that can not be told. */
	readonly isInTransaction: boolean | undefined
}

/** A message that a relay holds until its lease ends. */
export interface ClaimedRow {
	readonly id: string
	readonly destination: string
	readonly topic: string
	readonly key: string | null
	/** JSON. */
	readonly payload: string
	/** JSON. */
	readonly headers: string | null
	/** Which attempt this is, from 1; it was counted by the claim. */
	readonly attempt: number
	/** When it was claimed, by the database's clock. */
	readonly claimedAt: number
	readonly maxRetries: number | null
	/** The latest delay that the backoff made, for strategies that go on from it; null before the first failure. */
	readonly delayMs: number | null
	/** How often a process died holding it, the latest time included. */
	readonly crashes: number
	readonly createdAt: number
	readonly dueAt: number
	readonly expiresAt: number | null
}

/** What names a claim: an ack that comes too late names one that is over, and changes nothing. */
export interface ClaimRef {
	readonly id: string
	readonly attempt: number
	/**
	 * Of the claimed row. An attempt that was given back, or a dead letter that was replayed, is counted anew, so that owner and attempt may
	 * name a later claim as well: with this, an outcome that is written twice, since the first answer was lost, does not end that one.
	 */
	readonly claimedAt?: number | undefined
}

/** What becomes of a message that was claimed. */
export type Settlement =
	| (ClaimRef & { readonly type: 'sent' })
	/** Failed, and due again in so many milliseconds from now. Its crashes are forgotten, for the process lives. */
	| (ClaimRef & {
			readonly type: 'retry'
			readonly inMs: number
			readonly delayMs: number | null
			readonly error: StoredError
	  })
	/** Given back unsent: the attempt is refunded. It is due when it was, or in so many milliseconds. */
	| (ClaimRef & { readonly type: 'release'; readonly inMs?: number | undefined })
	| (ClaimRef & {
			readonly type: 'dead'
			readonly cause: DeadLetterCause
			readonly error: StoredError | null
			/** Was it not even tried? Then the attempt is refunded. */
			readonly refundAttempt?: boolean | undefined
			/** What it means for those behind it with the same key: nothing, they wait for it, or they become dead letters as well. */
			readonly afterDeadLetter: AfterDeadLetter
	  })

/**
 * What a message that can not be sent does to those behind it with the same key: nothing; they wait until it was replayed or discarded; or
 * those that are there become dead letters with it, and later ones wait until all of them were replayed or discarded.
 */
export type AfterDeadLetter = 'skip' | 'block' | 'dead-letter-rest'

/** What a relay wants of one destination. */
export interface ClaimTarget {
	readonly destination: string
	/** At most so many. */
	readonly limit: number
	/** Only what is due at this time or later: a relay that goes on from its latest claim skips what lies before. 0 looks at all. */
	readonly since: number
	/** Is at most one message of each key in flight, in the order of enqueuing? Messages without a key are free. */
	readonly isOrdered: boolean
	/** Of an ordered destination: only the first of each of these keys, whatever `since` is. */
	readonly keys?: readonly string[] | undefined
	/** May it go through a gate that is shut? Only who was let in to see whether the other side is back. */
	readonly isProbe: boolean
}

export interface ClaimRequest {
	/** Who holds what is claimed. */
	readonly owner: string
	readonly leaseMs: number
	readonly targets: readonly ClaimTarget[]
	/** True claims only messages that a process died with so often, or more; false only those with fewer. */
	readonly poisonCandidates: boolean
	/** How many deaths make a suspect, this claim's own discovery of one included. */
	readonly poisonAfter: number
}

export interface ClaimResult {
	/** The database's time. */
	readonly now: number
	/** By destination in the order of the lanes, each by when it was due and then in the order of enqueuing. */
	readonly rows: readonly ClaimedRow[]
	/** The gates of those lanes that have one. A shut gate gave no rows, unless to a probe. */
	readonly circuits: readonly DestinationCircuit[]
}

/** What all relays know of a destination. There is none until the first trouble. */
export interface DestinationCircuit {
	readonly destination: string
	readonly state: CircuitState
	/** For how long nobody may claim, from now; 0 when the time is over. Not closed and 0 means: somebody should probe. */
	readonly pausedForMs: number
	readonly reason: PauseReason | null
	/** How often a probe has failed since it was closed. */
	readonly failedProbes: number
	/** The latest open time that the backoff made. */
	readonly delayMs: number
	/** How long ago it was let through again after an outage or a hold; null when it never was shut. Never below 0. */
	readonly closedAgoMs: number | null
	/** Goes up with every change. */
	readonly version: number
}

export type PauseReason = 'circuit-open' | 'probe' | 'retry-after'

/** A change of a gate by who has seen it last: with another version in the store it does not happen. */
export interface CircuitChange {
	readonly destination: string
	/** The one that was seen; 0 when there was no gate. */
	readonly version: number
	readonly state: CircuitState
	readonly pausedForMs: number
	readonly reason: PauseReason | null
	readonly failedProbes: number
	readonly delayMs: number
}

/** So many in each interval, all relays together; `burst` at once after a pause. Whole numbers. */
export interface Rate {
	readonly limit: number
	readonly intervalMs: number
	readonly burst: number
}

export interface TokenGrant {
	readonly granted: number
	/** Until one more could be granted, when there were fewer than asked for. */
	readonly inMs: number
}

/** What a relay asks for a destination that all relays together may only send so much to at a time. */
export interface PermitRequest {
	readonly destination: string
	readonly owner: string
	readonly wanted: number
	/** How many it sends right now. */
	readonly inUse: number
	readonly total: number
	readonly leaseMs: number
}

/** A relay that is alive, as others see it. Counts are since it started. */
export interface RelayReport {
	readonly id: string
	readonly host: string
	readonly pid: number
	readonly destinations: readonly string[]
	readonly inFlight: number
	readonly sent: number
	readonly failed: number
	readonly dead: number
	/** Messages sent a second, lately. */
	readonly throughput: number
}

/** The same with when it was. */
export interface RelayRow extends RelayReport {
	readonly startedAt: number
	readonly seenAt: number
}

/** All that is known about a message. Times are milliseconds. */
export interface StoredMessage extends Omit<NewRow, 'notBefore'> {
	readonly status: MessageStatus
	readonly attempts: number
	readonly dueAt: number | null
	readonly lastAttemptAt: number | null
	readonly error: StoredError | null
	readonly lockedAt: number | null
	readonly lockedBy: string | null
	readonly leaseUntil: number | null
	readonly createdAt: number
	readonly crashes: number
	readonly endedAt: number | null
	readonly cause: DeadLetterCause | null
	/** Is it a dead letter that those behind it with its key wait for? */
	readonly blocks: boolean
}
