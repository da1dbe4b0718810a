/**
 * What the suite is handed and what it gives back. Plain functions that throw: whoever writes a store runs them under the test
 * framework that is there already, and nothing here drags in another.
 */
import type { Queryable } from '../../../sql/clients.ts'
import type { Store } from '../../store/store.ts'

/** A store on an empty database of its own, with its tables or without. */
export interface StoreUnderTest {
	readonly store: Store
	/** Moves the clock that the store goes by, forward. Nothing in the suite sleeps. */
	advance(ms: number): void | Promise<void>
	/** Runs `work` in a transaction of the user's, and ends it as told. Answers what `work` answered. */
	transaction<T>(work: (tx: Queryable) => Promise<T>, end: 'commit' | 'rollback'): Promise<T>
	/** A second store on the same database and the same clock, as another process would have it; where there can be none, left out. */
	another?(): Promise<Store>
	/** Closes the stores and takes the database away. */
	close(): Promise<void>
}

/** One promise of a store. `run` rejects when it is broken. */
export interface ConformanceCase {
	readonly name: string
	run(): Promise<void>
}
