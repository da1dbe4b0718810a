import type { Queryable } from '../../../sql/clients.ts'
import type { OutboxStore } from '../../store/store.ts'

/**
 * A store on an empty database of its own, with or without tables. For authors of stores: the function that
 * is passed to `outboxStoreConformance` returns it.
 */
export interface OutboxStoreUnderTest {
	readonly store: OutboxStore
	/** Moves the store's clock forward, or back by a negative time. The suite never sleeps. */
	advance(ms: number): void | Promise<void>
	/**
	 * Runs `work` in a transaction of the user and ends it. Returns the result of `work`; rolls back if it
	 * rejects. With `isolationLevel`, one of `isolationLevels`, the transaction has that level and has taken
	 * its snapshot before `work` starts.
	 */
	transaction<T>(
		work: (tx: Queryable) => Promise<T>,
		end: 'commit' | 'rollback',
		isolationLevel?: string,
	): Promise<T>
	/**
	 * The isolation levels that a user's transaction can have while other connections write. Omit it if a
	 * transaction excludes all other connections.
	 */
	readonly isolationLevels?: readonly string[]
	/**
	 * Opens a second store on the same database and clock, as another process would. Omit it if there can be
	 * only one.
	 */
	another?(): Promise<OutboxStore>
	/** Closes the stores and deletes the database. */
	close(): Promise<void>
}
