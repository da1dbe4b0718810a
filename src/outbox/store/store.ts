/**
 * The contract between the outbox and a database. Each method is one statement or one transaction. The
 * contract is split into roles, so that code names the part it needs; `OutboxStore` is all of them, and the
 * conformance suite (`yaoki/outbox/testing`) defines what they mean.
 *
 * Only the database's clock decides about time: callers pass durations, and results carry the database's
 * time.
 */
import type { Queryable } from '../../sql/clients.ts'
import type { Migration, MigrationReport } from '../../sql/schema/migration.ts'
import type { DeadLetterCause, MessageStatus } from '../message/message.ts'
import type { EndpointStore } from './endpoint-store.ts'
import type {
	AttemptRow,
	AuditAction,
	AuditRow,
	CircuitChange,
	ClaimRef,
	ClaimRequest,
	ClaimResult,
	DestinationCircuit,
	InsertResult,
	NewAttempt,
	NewRow,
	OperatorChange,
	OperatorNote,
	PermitRequest,
	RelayPauseReason,
	RelayReport,
	RelayRow,
	Settlement,
	SharedRate,
	StoredMessage,
	TokenGrant,
} from './rows.ts'
import type { CappedCount, StoreStats } from './store-stats.ts'

/** Creates and updates the tables. */
interface SchemaStore {
	readonly migrations: readonly Migration[]
	/** Updates the schema. Several processes may call it concurrently. Rejects if the schema is newer than this release. */
	migrate(): Promise<MigrationReport>
	/** Returns the version of the schema, 0 if there are no tables. */
	schemaVersion(): Promise<number>
}

/** How rows are inserted. For authors of stores: the third argument of `OutboxStore.insert`. */
export interface InsertOptions {
	/** How long a dedupe key is taken, from the time when its message is due. Default one day. */
	readonly dedupeForMs?: number | undefined
	/**
	 * Whether transactions that insert messages of the same destination and key wait for each other, so that
	 * messages of a key are committed in the order of their sequence numbers. Default true. Stores with one
	 * writer at a time ignore it.
	 */
	readonly lockKeys?: boolean | undefined
	/**
	 * If true and `tx` has no open transaction, nothing is written, and the result has
	 * `isInTransaction: false`. The store asks the database if the client does not expose it. Default false.
	 */
	readonly requiresTransaction?: boolean | undefined
}

/** Writes new messages. */
interface EnqueueStore {
	/**
	 * Inserts the rows in the transaction `tx`, or in a transaction of its own if `tx` is omitted. A dedupe key
	 * is taken until it expires, and as long as its message is queued or dead. At any isolation level, a second
	 * message with a taken key is returned as a duplicate, or the call rejects.
	 */
	insert(rows: readonly NewRow[], tx?: Queryable, options?: InsertOptions): Promise<InsertResult>
}

/** Writes new messages within the call, for drivers that are synchronous. */
export interface SyncEnqueueStore {
	/** As `insert` with `tx`, but returns when the rows are inserted, and throws. */
	insertSync(rows: readonly NewRow[], tx: Queryable, options?: InsertOptions): InsertResult
}

/** Destinations with due messages. For authors of stores: `OutboxStore.dueDestinations` returns it. */
export interface DueDestinations {
	/** In the store's order, so that the last name can be passed as `after` for the next page. */
	readonly names: readonly string[]
	/**
	 * Time until the first message of the other scanned destinations is due. The scan ends at the last returned
	 * name if the limit was reached, otherwise after the last destination.
	 */
	readonly nextDueInMs: number | undefined
}

/** Claims and settles messages: the relay's main loop. */
interface QueueStore {
	/** Claims messages. Rejects with a `TimeoutError` if the database cancelled it because of its duration; the relay then claims fewer. */
	claim(request: ClaimRequest): Promise<ClaimResult>
	/**
	 * Writes the outcome of claimed messages. Returns the ids that this owner no longer holds with that
	 * attempt; these are left unchanged. Rejects with a `TimeoutError` if the database cancelled it because of
	 * its duration; the relay then writes fewer. If one row of a batch cannot be written, the others are
	 * written, and that row with a sanitized error.
	 *
	 * Stores each `log` in the same transaction, as `logAttempts` does; for a claim that is lost, with the
	 * outcome `lease-lost`. A log that cannot be written is left out: it never prevents the settlement.
	 */
	settle(owner: string, settlements: readonly Settlement[], keepHistory: boolean): Promise<readonly string[]>
	/** Extends leases to `leaseMs` from now. Returns the ids that are no longer held. */
	renew(owner: string, leaseMs: number, claims: readonly ClaimRef[]): Promise<readonly string[]>
	/**
	 * Returns the claims of this owner at these destinations whose leases have not ended, with `claimedAt`. A
	 * relay asks after the response of a claim was lost. A store may search only the first messages of a
	 * destination, in the order in which they are due, so that the cost is bounded.
	 */
	claimsOf(owner: string, destinations: readonly string[]): Promise<readonly ClaimRef[]>
	/** Returns the time until the next scheduled message is due, undefined if there is none. Messages in flight do not count. */
	nextDueInMs(destinations: readonly string[]): Promise<number | undefined>
	/**
	 * Returns whether a message of the destination can be claimed, whatever the state of its circuit: it is
	 * due, not in flight, and has fewer crashes than `poisonAfter`. With `isOrdered` it has no key, or is the
	 * first message of its key and no dead letter blocks it. Writes nothing. The cost is bounded: a store that
	 * does not find one among the first thousands of due messages may return true.
	 */
	hasClaimable(destination: string, isOrdered: boolean, poisonAfter: number): Promise<boolean>
	/**
	 * Returns the first `limit` destinations after the name `after` with due messages, in flight or not. The
	 * cost grows only with the number of names.
	 */
	dueDestinations(limit: number, after?: string): Promise<DueDestinations>
	/**
	 * Moves at most `limit` sent messages from the history back into the queue in one transaction, oldest
	 * first: due now, no attempts, no crashes, no error, at their former position in the order of their key. An
	 * expiry that has passed is removed. Their dedupe keys are taken again where they are free. Skips discarded
	 * dead letters. Writes an audit record `resend` for each. Returns their ids.
	 */
	resend(filter: StoreFilter, limit: number, operator: OperatorNote): Promise<readonly string[]>
	/** Deletes at most `limit` of the oldest history rows older than `olderThanMs`. Returns the number of deleted rows. */
	dropHistory(olderThanMs: number, limit: number): Promise<number>
	/**
	 * Checks at most `limit` expired dedupe keys, oldest first. Deletes those whose message is neither queued
	 * nor dead; the others are checked again after an hour. Returns the number of checked keys.
	 */
	dropDedupeKeys(limit: number): Promise<number>
}

/** State of a destination that all relays share: circuit, pause, rate, concurrency. */
export interface CoordinationStore {
	/** Returns the circuits of those destinations that have one. */
	circuits(destinations: readonly string[]): Promise<readonly DestinationCircuit[]>
	/** Applies the change unless the version has changed since. Returns the circuit as it is now. */
	changeCircuit(
		change: CircuitChange,
	): Promise<{ readonly isApplied: boolean; readonly circuit: DestinationCircuit }>
	/** Pauses claiming for `forMs` unless a longer pause is active. Does not change the circuit state. */
	pause(destination: string, forMs: number, reason: RelayPauseReason): Promise<void>
	/**
	 * Applies the change of an operator and writes an audit record, in one transaction. `isChanged` is false if
	 * there was nothing to resume or to close. Returns the circuit as it is now.
	 */
	changeByOperator(
		change: OperatorChange,
	): Promise<{ readonly isChanged: boolean; readonly circuit: DestinationCircuit }>
	/** Returns at most `limit` destinations that an operator has paused, by name. */
	operatorPauses(limit: number): Promise<readonly DestinationCircuit[]>
	/** Takes up to `count` tokens from the bucket that all relays share. */
	acquireTokens(destination: string, count: number, rate: SharedRate): Promise<TokenGrant>
	/** Returns unused tokens to the bucket. */
	returnTokens(destination: string, count: number, rate: SharedRate): Promise<void>
	/**
	 * Returns how many of `total` permits this relay may use until `leaseMs` from now: its fair share, at most
	 * `wanted`, and never more than the other relays leave free. The relay starts nothing while it uses that
	 * many. The store records the larger of the share and `inUse`, so that the permits in use never exceed
	 * `total` while shares move between relays.
	 */
	acquirePermits(request: PermitRequest): Promise<number>
}

/** Lists the running relays. */
export interface RelayRegistry {
	/** Records that a relay is alive, and forgets relays without a heartbeat for `forgetAfterMs`. */
	heartbeat(report: RelayReport, forgetAfterMs: number): Promise<void>
	/** Removes a relay and its permits. */
	removeRelay(owner: string): Promise<void>
	relays(): Promise<readonly RelayRow[]>
}

/**
 * Selects messages; all given fields must match. For authors of stores: `OutboxStore.list`,
 * `OutboxStore.replay` and other methods get it; users pass a `MessageFilter`.
 */
export interface StoreFilter {
	/** Any of these. An empty list matches nothing. */
	readonly ids?: readonly string[] | undefined
	readonly status?: MessageStatus | undefined
	readonly topic?: string | undefined
	readonly destination?: string | undefined
	readonly key?: string | undefined
	readonly cause?: DeadLetterCause | undefined
	/** Fingerprint of the latest error; `''` selects dead letters without an error. */
	readonly fingerprint?: string | undefined
	/** Died (dead letters) or enqueued (others) at this time or later, milliseconds since 1970. */
	readonly since?: number | undefined
	/** Died or enqueued before this time. */
	readonly until?: number | undefined
}

/**
 * A group of dead letters with the same error fingerprint, cause and destination. For authors of stores:
 * `OutboxStore.deadGroups` returns it; users get a `DeadLetterGroup` from `outbox.dead.groups()`.
 */
export interface DeadGroupRow {
	readonly fingerprint: string
	readonly cause: DeadLetterCause
	readonly destination: string
	readonly errorType: string | null
	readonly errorMessage: string | null
	readonly count: number
	/** True if counting stopped there: the group may have more. */
	readonly isCapped: boolean
	readonly firstAt: number
	readonly lastAt: number
	/** Id of the oldest message of the group. */
	readonly exampleId: string
}

/** Fields that a replay changes; null removes the value. For authors of stores: the last argument of `OutboxStore.replay`. */
export interface MessageEdit {
	readonly payload?: string | undefined
	readonly headers?: string | null | undefined
	readonly destination?: string | undefined
	readonly expiresAt?: number | null | undefined
	readonly maxRetries?: number | null | undefined
}

/** Lists, replays and discards dead letters. */
export interface DeadLetterStore {
	/** Returns the largest groups first. A store may stop counting a group, at 100 or more. */
	deadGroups(filter: StoreFilter, limit: number): Promise<readonly DeadGroupRow[]>
	/** Counts matching dead letters, up to `limit`. */
	countDead(filter: StoreFilter, limit: number): Promise<CappedCount>
	/**
	 * Moves at most `limit` dead letters back into the queue in one transaction, oldest first: due now, no
	 * attempts, no crashes, at their former position in the order of their key. Writes an audit record for
	 * each: `replay`, or `edit` if a field changes. Returns their ids.
	 */
	replay(
		filter: StoreFilter,
		limit: number,
		operator: OperatorNote,
		edit?: MessageEdit,
	): Promise<readonly string[]>
	/**
	 * Deletes at most `limit` dead letters, oldest first, and writes an audit record for each, in one
	 * transaction; with `keepHistory` moves them into the history. Returns their ids.
	 */
	discard(
		filter: StoreFilter,
		limit: number,
		operator: OperatorNote,
		keepHistory: boolean,
	): Promise<readonly string[]>
}

/** Selects audit records; all given fields must match. For authors of stores: `OutboxStore.audit` gets it. */
export interface StoreAuditFilter {
	readonly action?: AuditAction | undefined
	readonly destination?: string | undefined
	readonly by?: string | undefined
	/** A message id in lower case. */
	readonly messageId?: string | undefined
	/** At this time or later, milliseconds since 1970. */
	readonly since?: number | undefined
	/** Before this time. */
	readonly until?: number | undefined
}

/** Reads and deletes what operators did. The records are written by the changes themselves. */
export interface AuditStore {
	/** Returns matching records, newest first, before the record `before`. */
	audit(filter: StoreAuditFilter, limit: number, before?: number): Promise<readonly AuditRow[]>
	/** Deletes at most `limit` of the oldest records older than `olderThanMs`. Returns the number of deleted records. */
	dropAudit(olderThanMs: number, limit: number): Promise<number>
}

/** Keeps what each call of a handler resulted in. */
export interface AttemptLogStore {
	/**
	 * Stores attempts, with texts that databases accept. An attempt that is stored already stays as it is. The
	 * messages need not exist.
	 */
	logAttempts(attempts: readonly NewAttempt[]): Promise<void>
	/** Returns the attempts of a message, oldest first, after the attempt `after`. */
	attempts(
		messageId: string,
		limit: number,
		after?: Pick<AttemptRow, 'startedAt' | 'attempt' | 'relay'>,
	): Promise<readonly AttemptRow[]>
	/** Deletes at most `limit` attempts that have been kept for their `keepForMs`, oldest first. Returns their number. */
	dropAttempts(limit: number): Promise<number>
}

/** Finds and counts messages, for people and tools. */
interface DiagnosticsStore {
	find(id: string): Promise<StoredMessage | undefined>
	/** Lists messages oldest first, after the message `after`. Without a status: queued and dead messages. */
	list(filter: StoreFilter, limit: number, after?: string): Promise<readonly StoredMessage[]>
	/**
	 * Makes messages that wait for a retry due now. Skips messages in flight, and messages scheduled by
	 * `notBefore` unless their ids are given, and messages with more than `maxAttempts` attempts. Default: all
	 * attempts. With `operator`, records it in the audit, without payloads and headers. Returns the ids.
	 */
	retryNow(
		filter: StoreFilter,
		limit: number,
		maxAttempts?: number,
		operator?: OperatorNote,
	): Promise<readonly string[]>
	/**
	 * Makes queued messages expire now, and due, so that a relay moves them to the dead letters; records it in
	 * the audit. Skips messages in flight and those that have expired. Returns the ids.
	 */
	expire(filter: StoreFilter, limit: number, operator: OperatorNote): Promise<readonly string[]>
	/**
	 * Returns the message that this one waits for at an ordered destination: the dead letter that blocks its
	 * key, otherwise the first queued message of the key. Undefined if there is none.
	 */
	findPredecessor(id: string): Promise<StoredMessage | undefined>
	/**
	 * Counts messages of one destination, or of the first thousand. The total cost is bounded: one destination
	 * is counted up to `limit`, many destinations up to an equal share of a few times `limit`.
	 */
	stats(limit: number, destination?: string): Promise<StoreStats>
	/** Returns the database's time. */
	now(): Promise<number>
}

/** Notifies relays of other processes about new messages. */
export interface NotificationStore {
	/** Notifies relays of other processes that messages may be due. Never uses the user's transaction. */
	notify(): Promise<void>
	/**
	 * Calls `onNotify` for each notification, and `onError` when the connection is lost and is being restored.
	 * Returns a function that stops listening.
	 */
	listen(onNotify: () => void, onError: (error: unknown) => void): Promise<() => Promise<void>>
}

/**
 * A database that holds an outbox: the option `store` of an `Outbox`. `postgresOutboxStore` and
 * `sqliteOutboxStore` create one. For authors of stores: `outboxStoreConformance` tests it.
 */
export interface OutboxStore
	extends SchemaStore,
		EnqueueStore,
		Partial<SyncEnqueueStore>,
		QueueStore,
		CoordinationStore,
		RelayRegistry,
		DeadLetterStore,
		AuditStore,
		AttemptLogStore,
		DiagnosticsStore,
		NotificationStore {
	/** Name of the store in messages: `'sqlite'`, `'postgres'`. */
	readonly kind: string
	/** Endpoints of webhooks. A store without them cannot be used by `new Webhooks`. */
	readonly endpoints?: EndpointStore | undefined
	/** Returns true if this kind of store can use `tx`. */
	accepts(tx: Queryable): boolean
	/** Closes the connections that the store opened. A pool that the user passed stays open. */
	close(): Promise<void>
}
