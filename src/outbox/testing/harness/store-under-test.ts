import type { Queryable } from '../../../sql/clients.ts'
import type { Store } from '../../store/store.ts'

/** A store on an empty database of its own, with or without tables. */
export interface StoreUnderTest {
	readonly store: Store
	/** Moves the store's clock forward. The suite never sleeps. */
	advance(ms: number): void | Promise<void>
	/** Runs `work` in a transaction of the user and ends it. Returns the result of `work`. */
	transaction<T>(work: (tx: Queryable) => Promise<T>, end: 'commit' | 'rollback'): Promise<T>
	/** Opens a second store on the same database and clock, as another process would. Omit it if there can be only one. */
	another?(): Promise<Store>
	/** Closes the stores and deletes the database. */
	close(): Promise<void>
}
