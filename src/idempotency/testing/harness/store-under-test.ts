import type { IdempotencyStore } from '../../store/store.ts'

/**
 * A store on an empty database of its own. For authors of stores: the function that is passed to `idempotencyStoreConformance` returns it.
 */
export interface IdempotencyStoreUnderTest<Tx = unknown> {
	readonly store: IdempotencyStore<Tx>
	/**
	 * Moves the store's clock forward. Omit it if that is not possible: then leases and retentions that have to end are 50 ms long, and the suite
	 * waits for them.
	 */
	advance?(ms: number): void | Promise<void>
	/** True if the database deletes expired keys by itself, so that `purge` has nothing to do. Default false. */
	readonly purgesItself?: boolean | undefined
	/** A table of the user in the store's database, for stores with transactions. */
	readonly userTable?:
		| {
				/** Inserts a row in a transaction of the store. */
				insert(tx: Tx): Promise<unknown>
				/** Returns the number of committed rows. */
				count(): Promise<number>
		  }
		| undefined
	/** Opens a second store on the same database and clock, as another process would. Omit it if there can be only one. */
	another?(): Promise<IdempotencyStore<Tx>>
	/** Closes the stores and deletes the database. */
	close(): void | Promise<void>
}
