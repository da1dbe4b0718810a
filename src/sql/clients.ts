/**
 * The database clients that stores use, described by their shape: the user brings the driver, and the package
 * imports none. A `pg` client or pool and PGlite have `query`; `node:sqlite` has `prepare`.
 */

/** `pg`, PGlite, or any client that runs a text with `$1` parameters and returns rows. */
export interface SqlClient {
	/** Returns the rows, or an object with them. */
	query(text: string, values?: unknown[]): Promise<SqlRows | readonly unknown[]>
}

interface SqlRows {
	readonly rows: readonly unknown[]
}

/** `DatabaseSync` of `node:sqlite`, or a `Database` of `better-sqlite3`. */
export interface SqliteClient {
	prepare(sql: string): SqliteClientStatement
	/** A property of `node:sqlite`. */
	readonly isTransaction?: boolean
	/** A property of `better-sqlite3`. */
	readonly inTransaction?: boolean
}

type SqliteValue = string | number | null

/** Runs a statement with values in order, or with numbered parameters by number. */
interface RunSqlite<Result, Value = SqliteValue> {
	(numbered: Record<string, Value>): Result
	(...params: Value[]): Result
}

interface SqliteClientStatement {
	readonly all: RunSqlite<unknown[]>
	readonly run?: RunSqlite<unknown>
	/** A property of `better-sqlite3`: whether the statement returns rows. */
	readonly reader?: boolean
}

/** `DatabaseSync` as a store uses its own connection. */
export interface SqliteDatabase extends SqliteClient {
	prepare(sql: string): SqliteStatement
	exec(sql: string): void
	close(): void
}

export interface SqliteStatement {
	readonly all: RunSqlite<unknown[], SqliteValue | Uint8Array>
	readonly run: RunSqlite<{ readonly changes: number | bigint }, SqliteValue | Uint8Array>
	/** Missing before Node 22.16. */
	setReturnArrays?(enabled: boolean): void
}

/**
 * A database client with your open transaction: the option `tx` of `outbox.enqueue`, `inbox.once`, their
 * synchronous forms, and `context.complete`. For authors of stores: `OutboxStore.insert` gets it.
 */
export type Queryable = SqlClient | SqliteClient

export const isSqlClient = (tx: Queryable): tx is SqlClient =>
	typeof (tx as Partial<SqlClient> | null | undefined)?.query === 'function'

export const isSqliteClient = (tx: Queryable): tx is SqliteClient =>
	typeof (tx as Partial<SqliteClient> | null | undefined)?.prepare === 'function' && !isSqlClient(tx)

/** What a store expects as the transaction of the user, in errors. */
export const POSTGRES_TX =
	'an object with query(text, values), such as a pg client, PGlite, a PGlite transaction, or what prismaTx(tx) and the functions for other ORMs return'
export const SQLITE_TX =
	'an object with prepare(sql), such as a DatabaseSync of node:sqlite, a Database of better-sqlite3, or what drizzleTx(tx) returns'

/** A statement that `pg` prepares once per connection under its name. */
interface NamedQuery {
	readonly name?: string
	readonly text: string
	readonly values: unknown[]
}

type EventHandler = (event?: unknown) => void

/** A connection checked out of a `pg` pool. */
export interface PgClient {
	query(query: string | NamedQuery, values?: unknown[]): Promise<SqlRows>
	release(isBroken?: boolean): void
	on(event: 'error' | 'end' | 'notification', handler: EventHandler): unknown
	removeListener(event: 'error' | 'end' | 'notification', handler: EventHandler): unknown
}

/** A `Pool` of `pg`. */
export interface PgPool {
	query(query: string | NamedQuery, values?: unknown[]): Promise<SqlRows>
	connect(): Promise<PgClient>
	on(event: 'error' | 'connect', handler: EventHandler): unknown
	removeListener(event: 'error' | 'connect', handler: EventHandler): unknown
}

/** A transaction of PGlite. */
export interface PGliteTransaction {
	query(text: string, values?: unknown[]): Promise<SqlRows>
	exec(sql: string): Promise<unknown>
}

/** A PGlite database. */
export interface PGliteLike extends PGliteTransaction {
	transaction<T>(work: (tx: PGliteTransaction) => Promise<T>): Promise<T>
	listen(channel: string, onNotify: (payload: string) => void): Promise<() => Promise<void>>
}

const hasMethod = (client: unknown, name: string): boolean =>
	typeof (client as Record<string, unknown> | null | undefined)?.[name] === 'function'

/** Returns true for a PGlite database, false for one of its transactions. */
export const isPGlite = (client: unknown): client is PGliteLike =>
	hasMethod(client, 'transaction') && hasMethod(client, 'listen') && !hasMethod(client, 'rollback')

/** Returns true for a `pg` pool or a PGlite database. A single `pg` client is rejected: it runs one query at a time. */
export function isPostgresClient(client: unknown): client is PgPool | PGliteLike {
	// Clients before pg 8.21 have no transaction status, and native ones do not escape.
	const isClient = hasMethod(client, 'getTransactionStatus') || hasMethod(client, 'escapeIdentifier')
	const isPool = hasMethod(client, 'connect') && hasMethod(client, 'on') && !isClient
	return hasMethod(client, 'query') && (isPool || isPGlite(client))
}
