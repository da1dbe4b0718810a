/** How the suite uses an ORM. One small file per ORM implements it. */
import type { PostgresOutboxStoreOptions, Queryable } from 'yaoki/outbox'

/** An open transaction of an ORM. */
export interface OpenTransaction {
	/** What the ORM passes to its callback. */
	readonly own: unknown
	/** Returns what the function of the package makes of it. */
	tx(): Queryable
	/** Runs a statement as the user would. */
	run(sql: string): PromiseLike<unknown>
	/** Runs `work` in a transaction within this one, which is rolled back if it throws. */
	nested?<T>(work: (open: OpenTransaction) => Promise<T>): Promise<T>
}

export interface OrmDatabase {
	/** Runs `work` in a transaction, which is committed, or rolled back if it throws. */
	transaction<T>(work: (open: OpenTransaction) => Promise<T>): Promise<T>
	close(): Promise<unknown>
	/** What the stores get if the database is in the process. Otherwise they get a pool of `pg`. */
	readonly storeClient?: PostgresOutboxStoreOptions['client']
}

export interface Orm {
	readonly name: string
	/** The function of the package. */
	readonly function: string
	/** True if an outbox also takes what the ORM passes to its callback. */
	readonly ownIsClient?: boolean
	/** True if the database is in the process, with one connection. Then `open` gets no URL. */
	readonly isInProcess?: boolean
	/** True if a query that is sent while the transaction is committed may get no response. */
	readonly dropsLateQueries?: boolean
	open(url: string): OrmDatabase | Promise<OrmDatabase>
	/** Calls the function with what has no transaction: the ORM's object itself. */
	readonly misuses: readonly ((database: OrmDatabase) => unknown)[]
}
