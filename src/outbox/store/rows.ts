/**
 * Values that go in and out of a store: plain data, JSON already encoded as text, times in milliseconds since
 * 1970 by the database's clock. The relay decides on these values; only a store knows SQL.
 */
import type { CircuitState } from '../../core/events/events.ts'
import type { DeadLetterCause, MessageStatus, StoredError } from '../message/message.ts'

/**
 * A message to insert. For authors of stores: `OutboxStore.insert` gets a list of them. They are validated
 * already: texts are well-formed and without NUL, the payload is JSON within its size limit.
 */
export interface NewRow {
	/** A UUID of version 7, in lower case. */
	readonly id: string
	readonly topic: string
	readonly destination: string
	readonly key: string | null
	/** JSON. */
	readonly payload: string
	/** JSON: an object of strings. */
	readonly headers: string | null
	readonly dedupeKey: string | null
	/** Null means now. */
	readonly notBefore: number | null
	readonly expiresAt: number | null
	/** Null for the destination's limit. 2,147,483,647 stands for no limit. */
	readonly maxRetries: number | null
}

/** Which rows were duplicates, and whether a transaction was open. For authors of stores: `OutboxStore.insert` returns it. */
export interface InsertResult {
	/** Rows that were skipped because their dedupe key exists: id of the row to id of the existing message. */
	readonly duplicates: ReadonlyMap<string, string>
	/** True if the rows were inserted in a transaction that the caller commits; undefined if the store cannot know. */
	readonly isInTransaction: boolean | undefined
	/** True if the transaction has messages of an earlier turn of the event loop, so that another caller may have opened it. SQLite only. */
	readonly isShared?: boolean
}

/**
 * A message that a relay holds until its lease expires. For authors of stores: an element of `rows` in what
 * `OutboxStore.claim` returns.
 */
export interface ClaimedRow extends Omit<NewRow, 'dedupeKey' | 'notBefore'> {
	/** The position in enqueue order, assigned at the insert and never reused: greater than the positions of all earlier messages of the key. */
	readonly sequence: number
	/** Number of this attempt, from 1. The claim counts it. */
	readonly attempt: number
	readonly claimedAt: number
	/** Previous backoff delay, for strategies that derive the next one from it; null before the first failure. */
	readonly delayMs: number | null
	/** How many times a process died while it held this message, including a crash that this claim discovered. */
	readonly crashes: number
	readonly createdAt: number
	readonly dueAt: number
}

/**
 * Identifies one claim of a message by a relay. For authors of stores: `OutboxStore.renew` gets it,
 * `OutboxStore.claimsOf` returns it, and every `Settlement` contains it. A settlement that arrives after the
 * lease was taken over refers to an older claim and changes nothing.
 */
export interface ClaimRef {
	readonly id: string
	readonly attempt: number
	/**
	 * From the claimed row. A refunded attempt, a replay or a resend resets the count, so the same owner and
	 * attempt can identify a later claim too. With `claimedAt`, a settlement that is written again because its first
	 * response was lost does not end that later claim.
	 */
	readonly claimedAt?: number | undefined
	/** From the claimed row. A store may find the row by it instead of by the id. */
	readonly sequence?: number | undefined
}

/**
 * What became of one call of a handler. `retry`: failed, will be attempted again; `timed-out`: the same, after
 * the timeout of the destination; `dead`: failed, the message became a dead letter; `in-progress`: the
 * receiver still processed an earlier attempt; `paused`: failed because of the destination, without using an
 * attempt; `stopped`: aborted because the relay stopped; `lease-lost`: another relay may be sending the message.
 */
export type AttemptOutcome =
	| 'sent'
	| 'retry'
	| 'timed-out'
	| 'dead'
	| 'in-progress'
	| 'paused'
	| 'stopped'
	| 'lease-lost'

/**
 * One call of a handler in the attempt log. For authors of stores: `OutboxStore.attempts` returns a list of
 * them, and `OutboxStore.logAttempts` gets them; users get an `MessageAttempt` from `outbox.attempts()`. A call
 * is identified by message, start, attempt and relay.
 */
export interface AttemptRow {
	readonly messageId: string
	/** Where the message was sent. */
	readonly destination: string
	/** Number of the attempt, from 1. A replay or a resend starts again at 1. */
	readonly attempt: number
	/** Id of the relay. */
	readonly relay: string
	/** By the database's clock, as the relay estimates it: an integer. */
	readonly startedAt: number
	/** An integer. */
	readonly durationMs: number
	readonly outcome: AttemptOutcome
	readonly statusCode: number | null
	readonly errorType: string | null
	/** Without the response body. */
	readonly errorMessage: string | null
	/** The start of the response. */
	readonly response: string | null
}

/** An attempt to store, and how long it is kept. */
export interface NewAttempt extends AttemptRow {
	/** Infinity for permanently. */
	readonly keepForMs: number
}

/** Identifies the settled claim, and has the record of the attempt if the destination has an attempt log. */
interface SettledClaim extends ClaimRef {
	readonly log?: NewAttempt | undefined
}

/** The outcome of a claimed message. For authors of stores: `OutboxStore.settle` gets a list of them. */
export type Settlement =
	| (SettledClaim & { readonly type: 'sent' })
	/** Failed; due again in `inMs`. Resets the crash count, because the process survived. */
	| (SettledClaim & {
			readonly type: 'retry'
			readonly inMs: number
			readonly delayMs: number | null
			readonly error: StoredError
	  })
	/** Returned unsent: the attempt is refunded. The due time stays, or is `inMs` from now. */
	| (SettledClaim & { readonly type: 'release'; readonly inMs?: number | undefined })
	| (SettledClaim & {
			readonly type: 'dead'
			readonly cause: DeadLetterCause
			/** Null keeps the error of the latest attempt. */
			readonly error: StoredError | null
			/** True if the message was not attempted. */
			readonly refundAttempt?: boolean | undefined
			readonly afterDeadLetter: AfterDeadLetter
	  })

/**
 * What happens to later messages with the same key when a message becomes a dead letter: `block`: they wait
 * until it is replayed or discarded; `skip`: they are sent without it; `dead-letter-rest`: queued ones become
 * dead letters too, and new ones wait until all of them are replayed or discarded.
 */
export type AfterDeadLetter = 'block' | 'skip' | 'dead-letter-rest'

/** What a relay claims from one destination. For authors of stores: an element of `targets` of a `ClaimRequest`. */
export interface ClaimTarget {
	readonly destination: string
	/** Maximum number of messages. */
	readonly limit: number
	/**
	 * Only messages due at this time or later, to continue after the previous claim. 0 scans all. A store may
	 * also return the first message of a key that was due earlier, if a later one of the key is in the range.
	 */
	readonly since: number
	/** True allows only one message in flight per key, in enqueue order. Messages without a key are not ordered. */
	readonly isOrdered: boolean
	/** Ordered destinations: claims only the first message of each of these keys, regardless of `since`. */
	readonly keys?: readonly string[] | undefined
	/**
	 * With `keys`: claims a run of up to this many messages of each key: its first one, and those that directly
	 * follow it. A run ends before a message that is not due, in flight, blocked by a dead letter, or has too
	 * many crashes. The relay sends a run one by one. Default 1.
	 */
	readonly perKey?: number | undefined
	/**
	 * Without `keys`: keys of which the relay holds messages, so that nothing of them can be claimed. A store
	 * need not use it; it saves the search for the first message of a key for each of its messages.
	 */
	readonly heldKeys?: readonly string[] | undefined
	/** True for a half-open probe, which may claim while the circuit is open. */
	readonly isProbe: boolean
}

/** What a relay claims: messages of some destinations, for the time of a lease. For authors of stores: `OutboxStore.claim` gets it. */
export interface ClaimRequest {
	/** Id of the relay that holds the claimed messages. */
	readonly owner: string
	readonly leaseMs: number
	readonly targets: readonly ClaimTarget[]
	/** True claims only messages with at least `poisonAfter` crashes, false only messages with fewer. */
	readonly poisonCandidates: boolean
	/** Number of crashes, including one that this claim discovers. */
	readonly poisonAfter: number
	/** Aborted when the relay gives the claim up. A store whose database goes on without it cancels the claim there. */
	readonly signal?: AbortSignal | undefined
}

/** The claimed messages, and the circuits of their destinations. For authors of stores: `OutboxStore.claim` returns it. */
export interface ClaimResult {
	/** The database's time. */
	readonly now: number
	/** In the order of the targets; within a destination by due time, then in enqueue order. The messages of a run are in enqueue order. */
	readonly rows: readonly ClaimedRow[]
	/** Circuits of the claimed destinations that have one. An open circuit or a pause yields rows only to a probe. */
	readonly circuits: readonly DestinationCircuit[]
}

/** The state of a circuit that relays share. They pause a destination instead of isolating it. */
export type SharedCircuitState = Exclude<CircuitState, 'isolated'>

/**
 * Circuit and pause of a destination, shared by all relays. For authors of stores: `OutboxStore.circuits`
 * returns it. It does not exist until the first failure or pause.
 */
export interface DestinationCircuit {
	readonly destination: string
	readonly state: SharedCircuitState
	/**
	 * Remaining time of the pause or of the open state, whichever ends last; 0 if it has expired, Infinity
	 * until an operator resumes. A circuit that is not closed at 0 is ready for a probe.
	 */
	readonly pausedForMs: number
	/** `'operator'` while an operator's pause is active, whatever else blocks the destination. */
	readonly reason: PauseReason | null
	/** The active pause of an operator; null without one. */
	readonly operatorPause: OperatorPause | null
	/** Number of failed probes since the circuit was last closed. */
	readonly failedProbes: number
	/** Latest open time that the backoff produced. */
	readonly delayMs: number
	/** Time since the circuit closed or the pause ended; null if the destination was never blocked. Never negative. */
	readonly closedAgoMs: number | null
	/** Increases with every change. */
	readonly version: number
}

/**
 * Why a circuit is open:
 * `circuit-open`: too many temporary failures;
 * `certificate`: the TLS connection or the certificate was rejected;
 * `credentials`: the destination returned 401 or 403, or a relay cannot decrypt the secret of an endpoint;
 * `disabled`: the destination is disabled, such as an endpoint of webhooks;
 * `permanent-failures`: several different messages in a row failed permanently.
 */
export type CircuitOpenReason =
	| 'circuit-open'
	| 'certificate'
	| 'credentials'
	| 'disabled'
	| 'permanent-failures'

export type PauseReason = CircuitOpenReason | 'probe' | 'retry-after' | 'operator'

/** Reasons for which relays pause a destination. */
export type RelayPauseReason = Exclude<PauseReason, 'operator'>

/** A pause of a destination that an operator asked for. Relays cannot end it, neither by a probe nor by a success. */
export interface OperatorPause {
	readonly by: string
	readonly reason: string | null
	readonly pausedAt: number
	/** Infinity until an operator resumes. */
	readonly pausedForMs: number
}

/**
 * Who changes something, and why. For authors of stores: `replay`, `discard`, `expire` and `resend` of an
 * `OutboxStore` get it for the audit record.
 */
export interface OperatorNote {
	readonly by: string
	readonly reason: string | null
}

/**
 * A change of a destination by an operator. For authors of stores: `OutboxStore.changeByOperator` gets it.
 *
 * - `pause`: relays claim nothing, not even a probe, for `forMs` (Infinity until `resume`). It replaces an
 *   earlier pause of an operator.
 * - `resume`: ends the operator's pause.
 * - `close-circuit`: closes the circuit and ends a Retry-After, but not the operator's pause.
 */
export type OperatorChange = OperatorNote & { readonly destination: string } & (
		| { readonly action: 'pause'; readonly forMs: number }
		| { readonly action: 'resume' | 'close-circuit' }
	)

/** A change of an endpoint of webhooks. */
export type EndpointAction =
	| 'create-endpoint'
	| 'change-endpoint'
	| 'rotate-secret'
	| 'disable-endpoint'
	| 'enable-endpoint'
	| 'delete-endpoint'

/** What an operator did. */
export type AuditAction =
	| 'retry'
	| 'expire'
	| 'replay'
	| 'edit'
	| 'discard'
	| 'resend'
	| OperatorChange['action']
	| EndpointAction

/**
 * A stored record of what an operator did to one message or to a destination. For authors of stores:
 * `OutboxStore.audit` returns it; users get an `AuditRecord` from `outbox.audit()`.
 */
export interface AuditRow extends OperatorNote {
	/** Ascending. */
	readonly seq: number
	readonly at: number
	readonly action: AuditAction
	/** The message's destination before the change, or the destination that was changed. */
	readonly destination: string
	/** Null for a change of a destination, as all fields of messages below. */
	readonly messageId: string | null
	readonly topic: string | null
	readonly key: string | null
	readonly cause: DeadLetterCause | null
	/** Before the change. JSON. */
	readonly payload: string | null
	/** Before the change. JSON. */
	readonly headers: string | null
	/** What an edit changed, or the time of a pause: a JSON object, null without one. */
	readonly changes: string | null
}

/**
 * A change of a circuit, applied only if the stored version is still `version`. For authors of stores:
 * `OutboxStore.changeCircuit` gets it.
 */
export interface CircuitChange extends Omit<DestinationCircuit, 'closedAgoMs' | 'operatorPause' | 'reason'> {
	readonly reason: RelayPauseReason | null
	/** The version that the change is based on; 0 if there was no circuit. */
	readonly version: number
}

/**
 * `limit` messages per interval over all relays, and up to `burst` of them immediately after an idle time.
 * For authors of stores: `OutboxStore.acquireTokens` and `OutboxStore.returnTokens` get it. All fields are
 * integers.
 */
export interface SharedRate {
	readonly limit: number
	readonly intervalMs: number
	readonly burst: number
}

/** How many tokens of a shared rate a relay got. For authors of stores: `OutboxStore.acquireTokens` returns it. */
export interface TokenGrant {
	readonly granted: number
	/** Time until one more token is available; 0 if all were granted. */
	readonly inMs: number
}

/**
 * A request for permits of a destination whose concurrency is limited over all relays. For authors of stores:
 * `OutboxStore.acquirePermits` gets it.
 */
export interface PermitRequest {
	readonly destination: string
	readonly owner: string
	readonly wanted: number
	/** Number of messages that this relay is sending now. */
	readonly inUse: number
	readonly total: number
	readonly leaseMs: number
}

/** Statistics of a running relay, counted since its start. For authors of stores: `OutboxStore.heartbeat` gets it. */
export interface RelayReport {
	readonly id: string
	readonly host: string
	readonly pid: number
	readonly destinations: readonly string[]
	/** The destinations that keep order. */
	readonly orderedDestinations: readonly string[]
	/** Time between two heartbeats. */
	readonly heartbeatMs: number
	readonly inFlight: number
	readonly sent: number
	readonly failed: number
	readonly dead: number
	/** Recent messages per second. */
	readonly throughput: number
}

/**
 * The stored state of one relay, with the times of its first and latest heartbeat. For authors of stores:
 * `OutboxStore.relays` returns it; users read it as `relays` in `outbox.stats()`.
 */
export interface RelayRow extends RelayReport {
	readonly startedAt: number
	readonly seenAt: number
}

/**
 * Everything that is stored about a message. For authors of stores: `OutboxStore.find` and `OutboxStore.list`
 * return it; users get a `MessageRecord` from `outbox.find()`.
 */
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
	/** True for a dead letter that blocks later messages of its key. */
	readonly blocks: boolean
}
