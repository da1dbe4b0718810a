/**
 * What a user's transaction looks like, by its shape: no driver is imported. A `pg` client or pool, PGlite and its
 * transactions have `query`; `node:sqlite` has `prepare`.
 */

/** `pg` and PGlite, and whatever else answers rows to a text with `$1`. */
export interface SqlClient {
	query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

/** `DatabaseSync` of `node:sqlite`. */
export interface SqliteClient {
	prepare(sql: string): SqliteStatement
	readonly isTransaction?: boolean
}

export interface SqliteStatement {
	all(...params: (string | number | null)[]): unknown[]
}

/** Anything that can run a query: what `enqueue` takes as `tx`. */
export type Queryable = SqlClient | SqliteClient

export const isSqlClient = (tx: Queryable): tx is SqlClient =>
	typeof (tx as Partial<SqlClient> | null | undefined)?.query === 'function'

export const isSqliteClient = (tx: Queryable): tx is SqliteClient =>
	typeof (tx as Partial<SqliteClient> | null | undefined)?.prepare === 'function' && !isSqlClient(tx)
