/**
 * What the outbox and its relays ask of a database, in calls that each are one statement or one transaction. One interface for all
 * stores and one conformance suite; a store of your own implements this. The database's clock alone decides times: durations go in,
 * and what comes out says what time it was there.
 */
import type { DeadLetterCause, MessageStatus } from '../message/message.ts'
import type { Queryable } from './queryable.ts'
import type {
	CircuitChange,
	ClaimRef,
	ClaimRequest,
	ClaimResult,
	DestinationCircuit,
	InsertResult,
	NewRow,
	PauseReason,
	PermitRequest,
	Rate,
	RelayReport,
	RelayRow,
	Settlement,
	StoredMessage,
	TokenGrant,
} from './rows.ts'

/** A numbered step of the schema. Once released it never changes. */
export interface Migration {
	readonly version: number
	readonly name: string
	readonly sql: string
}

export interface MigrationReport {
	readonly from: number
	readonly to: number
	/** The steps that were taken, empty when there was nothing to do. */
	readonly applied: readonly string[]
}

/** The tables. */
interface SchemaStore {
	readonly migrations: readonly Migration[]
	/** Brings the schema up to date. Safe to call from several processes at once. Refuses a schema that is newer than this version. */
	migrate(): Promise<MigrationReport>
	/** 0 when there is none. */
	schemaVersion(): Promise<number>
}

/** Where there is something to do. */
export interface DueDestinations {
	/** In the order of the store, so that the last one leads on to the next. */
	readonly names: readonly string[]
	/** Until the first message of the others falls due, as far as it was looked: with `limit` names up to the last of them, else to the end. */
	readonly nextDueInMs: number | undefined
}

/** What a relay does all day. */
interface QueueStore {
	/** With `tx` inside of the user's transaction, without it in one of its own. */
	insert(rows: readonly NewRow[], tx?: Queryable): Promise<InsertResult>
	claim(request: ClaimRequest): Promise<ClaimResult>
	/**
	 * Writes down what became of messages. Answers the ids of those that this owner no longer holds by that attempt, for which nothing was
	 * changed. A batch that fails on one bad row is written without it, and that one with what can be written of it.
	 */
	settle(owner: string, outcomes: readonly Settlement[], keepHistory: boolean): Promise<readonly string[]>
	/** Makes leases last `leaseMs` from now. Answers the ids that are no longer held. */
	renew(owner: string, leaseMs: number, held: readonly ClaimRef[]): Promise<readonly string[]>
	/** Until the next message that is not due yet; undefined when there is none. Those in flight do not count. */
	nextDueInMs(destinations: readonly string[]): Promise<number | undefined>
	/** The first `limit` destinations after the name `after` that have something due, in flight or not. Its cost grows with the names alone. */
	dueDestinations(limit: number, after?: string): Promise<DueDestinations>
	/** Deletes the oldest of the history beyond its time, at most `limit`; answers how many. */
	dropHistory(olderThanMs: number, limit: number): Promise<number>
}

/** What all relays share about a destination. */
interface GateStore {
	circuits(destinations: readonly string[]): Promise<readonly DestinationCircuit[]>
	/** Makes the change unless somebody else made one before; answers the gate as it is now. */
	changeCircuit(
		change: CircuitChange,
	): Promise<{ readonly isApplied: boolean; readonly circuit: DestinationCircuit }>
	/** Nobody claims for so long; a longer hold stays. The state stays. */
	pause(destination: string, forMs: number, reason: PauseReason): Promise<void>
	/** Takes up to `count` tokens of a bucket that all relays share. */
	acquireTokens(destination: string, count: number, rate: Rate): Promise<TokenGrant>
	/** Gives tokens back that were not used. */
	returnTokens(destination: string, count: number, rate: Rate): Promise<void>
	/**
	 * Tells how many of `total` places this relay may fill, until `leaseMs` from now: at most `want`, never more than the others have left, and
	 * towards an equal share for all that asked lately. It starts nothing while it uses as many. What is written down for it is the greater
	 * of that and `inUse`, so that the sum of what all use never passes `total` while shares move.
	 */
	acquirePermits(request: PermitRequest): Promise<number>
	/** Tells that a relay is alive; forgets those that have not been heard of for `forgetAfterMs`. */
	heartbeat(report: RelayReport, forgetAfterMs: number): Promise<void>
	/** A relay is gone, with its places. */
	removeRelay(owner: string): Promise<void>
	relays(): Promise<readonly RelayRow[]>
}

/** Which messages. What is left out does not matter. */
export interface StoreFilter {
	/** One of these. None of them is no message, not every message. */
	readonly ids?: readonly string[] | undefined
	readonly status?: MessageStatus | undefined
	readonly topic?: string | undefined
	readonly destination?: string | undefined
	readonly key?: string | undefined
	/** Why it became a dead letter. */
	readonly cause?: DeadLetterCause | undefined
	/** Of the latest failure; the same for failures of the same kind, and empty for what died without one. */
	readonly fingerprint?: string | undefined
	/** Of dead letters when they died, of others when they were enqueued: at or after this, milliseconds since 1970. */
	readonly since?: number | undefined
	/** Before this. */
	readonly until?: number | undefined
}

/** Dead letters of one cause. */
export interface DeadGroup {
	readonly fingerprint: string
	readonly cause: DeadLetterCause
	readonly destination: string
	readonly errorType: string | null
	readonly errorMessage: string | null
	readonly count: number
	readonly firstAt: number
	readonly lastAt: number
	/** The oldest of them. */
	readonly exampleId: string
}

/** What a replayed message is given in the place of what it had. Null removes it. */
export interface MessageEdit {
	readonly payload?: string | undefined
	readonly headers?: string | null | undefined
	readonly destination?: string | undefined
	readonly expiresAt?: number | null | undefined
	readonly maxRetries?: number | null | undefined
}

/** Counts up to a limit. */
export interface CappedCount {
	readonly count: number
	/** True when counting was ended at the limit: there may be more. */
	readonly isCapped: boolean
}

export interface DestinationCounts {
	readonly destination: string
	readonly due: CappedCount
	readonly scheduled: CappedCount
	readonly inFlight: CappedCount
	readonly dead: CappedCount
	/** How long the oldest message that is due has been so; null when none is. */
	readonly oldestLagMs: number | null
	/** When the next one is due, for those that wait. */
	readonly nextDueInMs: number | null
}

export interface StoreStats {
	/** The database's time. */
	readonly now: number
	readonly destinations: readonly DestinationCounts[]
	/** Are there more destinations than were looked at? */
	readonly hasMoreDestinations: boolean
	/** How many messages in the queue (of those that were looked at) have had so many attempts: index 0 none. The last counts all from there on. */
	readonly attempts: readonly number[]
	/** How many fall due in each of the next twelve times five minutes. */
	readonly forecast: readonly CappedCount[]
}

/** What people and tools ask. */
interface ArchiveStore {
	find(id: string): Promise<StoredMessage | undefined>
	/** Oldest first; goes on after the message `after`. Without a status: those in the queue and the dead. */
	list(filter: StoreFilter, limit: number, after?: string): Promise<readonly StoredMessage[]>
	/** The greatest groups first. */
	deadGroups(filter: StoreFilter, limit: number): Promise<readonly DeadGroup[]>
	/** Dead letters that match, up to `limit`. */
	countDead(filter: StoreFilter, limit: number): Promise<CappedCount>
	/**
	 * Puts dead letters back into the queue, oldest first, at most `limit`: due now, no attempts, no crashes, in their old place in the order of
	 * their key. In one transaction with taking them off the dead. Answers their ids.
	 */
	replay(filter: StoreFilter, limit: number, edit?: MessageEdit): Promise<readonly string[]>
	/** Takes dead letters away for good, oldest first, at most `limit`; with `keepHistory` into the history. Answers their ids. */
	discard(filter: StoreFilter, limit: number, keepHistory: boolean): Promise<readonly string[]>
	/**
	 * Makes messages that wait for a retry due now. Those in flight are left alone, and those that were put off on purpose are so unless they
	 * are named by their ids. Answers the ids.
	 */
	retryNow(filter: StoreFilter, limit: number): Promise<readonly string[]>
	/**
	 * What this message comes after where the order of keys is kept: the dead letter that holds it up, or else the first one before it in the
	 * queue. Undefined when nothing is before it.
	 */
	findPredecessor(id: string): Promise<StoredMessage | undefined>
	/**
	 * Of one destination, or of the first thousand. Bounded as a whole: no figure is counted beyond `limit` for one destination, nor beyond a few
	 * times that for all of them, which then have an equal share each.
	 */
	stats(limit: number, destination?: string): Promise<StoreStats>
	/** The database's time. */
	now(): Promise<number>
}

/** How relays of other processes hear of new messages. */
export interface NotificationStore {
	/** Tells relays of other processes that there may be something. Never in the user's transaction. */
	notify(): Promise<void>
	/** Calls `onRing` whenever somebody rang, and `onError` when it can hear no more and tries again. Answers how to stop. */
	listen(onRing: () => void, onError: (error: unknown) => void): Promise<() => Promise<void>>
}

/** A database with an outbox in it. */
export interface Store extends SchemaStore, QueueStore, GateStore, ArchiveStore, NotificationStore {
	/** What it is called in messages: `'sqlite'`, `'postgres'`. */
	readonly kind: string
	/** Does this `tx` belong to a database of this kind? */
	accepts(tx: Queryable): boolean
	/** Ends what it opened itself; a pool that was handed in stays open. */
	close(): Promise<void>
}
