/**
 * What is used of `pg` and of PGlite, by its shape: who brings a pool brings the driver, and nothing is imported here that was
 * not installed. The two differ in how a transaction, a script of several statements and a notification are had.
 */

interface QueryResult {
	readonly rows: readonly unknown[]
}

/** A statement that `pg` prepares once for each connection, by its name. */
interface NamedQuery {
	readonly name?: string
	readonly text: string
	readonly values: unknown[]
}

type Listener = (event?: unknown) => void

/** A connection that was taken out of a pool of `pg`. */
export interface PgClient {
	query(query: string | NamedQuery, values?: unknown[]): Promise<QueryResult>
	release(isBroken?: boolean): void
	on(event: 'error' | 'end' | 'notification', listener: Listener): unknown
	removeListener(event: 'error' | 'end' | 'notification', listener: Listener): unknown
}

/** A `Pool` of `pg`. */
export interface PgPool {
	query(query: string | NamedQuery, values?: unknown[]): Promise<QueryResult>
	connect(): Promise<PgClient>
	on(event: 'error' | 'connect', listener: Listener): unknown
	removeListener(event: 'error' | 'connect', listener: Listener): unknown
}

/** A transaction of PGlite. */
export interface PGliteTransaction {
	query(text: string, values?: unknown[]): Promise<QueryResult>
	exec(sql: string): Promise<unknown>
}

/** A database of PGlite. */
export interface PGliteLike extends PGliteTransaction {
	transaction<T>(work: (tx: PGliteTransaction) => Promise<T>): Promise<T>
	listen(channel: string, onNotify: (payload: string) => void): Promise<() => Promise<void>>
}

export const isPGlite = (client: PgPool | PGliteLike): client is PGliteLike =>
	typeof (client as Partial<PGliteLike>).transaction === 'function'

/** Has it what is used of a pool, or of PGlite? */
export function isClient(client: unknown): client is PgPool | PGliteLike {
	if (typeof client !== 'object' || client === null) return false
	const has = (name: string) => typeof (client as Record<string, unknown>)[name] === 'function'
	// A single client of `pg` has nearly the same, but only one thing can be done with it at a time.
	const isPool = has('connect') && has('on') && !has('getTransactionStatus')
	return has('query') && (isPool || (has('transaction') && has('listen')))
}
