/** What an inbox needs of its database. */
import type { Queryable } from '../../../sql/clients.ts'
import type { Migration, MigrationReport } from '../../../sql/schema/migration.ts'
import type { CappedCount } from '../../store/store-stats.ts'

/** A mark says that a message was processed. */
export interface MarkKey {
	/** The name of the inbox. */
	readonly inbox: string
	readonly messageId: string
}

export interface NewMark extends MarkKey {
	/** Identifies the call that writes the mark. */
	readonly token: number
	/** Infinity: permanently. */
	readonly retentionMs: number
	/** Whether a message that another transaction processes is a conflict, instead of waiting for its end. */
	readonly rejectsConflict: boolean
}

/** `ended`: the mark was written, and its transaction has ended meanwhile. */
export type MarkResult = 'marked' | 'duplicate' | 'conflict' | 'outside-transaction' | 'ended'

export interface StoredMark extends MarkKey {
	/** When the mark was written, by the database's clock, in milliseconds since 1970. */
	readonly processedAt: number
	/** When it may be deleted. */
	readonly expiresAt: number
}

export interface InboxCounts {
	readonly inbox: string
	readonly marks: CappedCount
	readonly expired: CappedCount
	readonly oldestAgeMs: number | null
}

/**
 * The database of an inbox. `postgresInboxStore` and `sqliteInboxStore` return it; pass it as `store` to
 * `new Inbox`. Its methods are for the inbox and the command line, except for `migrations`.
 */
export interface InboxStore {
	readonly kind: 'postgres' | 'sqlite'
	/** True if `mark` and `unmark` do not return promises. */
	readonly isSynchronous: boolean
	/** The steps that `migrate` runs, as SQL to run by hand. */
	readonly migrations: readonly Migration[]
	migrate(): Promise<MigrationReport>
	/** Returns the version of the tables, 0 if they do not exist. */
	schemaVersion(): Promise<number>
	/** Returns true if `tx` can be a transaction of this kind of database. */
	accepts(tx: Queryable): boolean
	/** Writes a mark in the transaction of `tx`, which `accepts` has accepted. */
	mark(tx: Queryable, mark: NewMark): MarkResult | Promise<MarkResult>
	/** Removes a mark, in the transaction of `tx`, or on a connection of the store without `tx`. A mark of another call stays. */
	unmark(tx: Queryable | undefined, mark: NewMark): void | Promise<void>
	find(key: MarkKey): Promise<StoredMark | undefined>
	/** Removes a mark that is committed. Returns false if there is none. */
	forget(key: MarkKey): Promise<boolean>
	/** Deletes at most `limit` marks whose retention is over, of all inboxes. With `isExclusive`, none while another process does it. */
	purge(limit: number, isExclusive?: boolean): Promise<number>
	/** Counts up to `limit` marks of one inbox, or of each. */
	stats(limit: number, inbox?: string): Promise<readonly InboxCounts[]>
	close(): Promise<void>
}

/** Returns a count of at most `limit` from a count that may be one more. */
export const toCapped = (counted: number, limit: number): CappedCount => ({
	count: Math.min(counted, limit),
	isCapped: counted > limit,
})
