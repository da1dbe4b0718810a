import { safeGet } from '../core/classify/safe-get.ts'
import { isPGlite, type PGliteLike, type PgClient, type PgPool } from './clients.ts'

/** Pools that have the handlers, once for all stores: Node warns of more than ten. */
const guarded = new WeakSet<PgPool>()

/**
 * Keeps lost connections of a pool from ending the process: they emit an event, which would end it without a
 * handler. The next query reports the error. The handlers stay as long as the pool: an idle connection may be
 * lost between the end of a store and `pool.end()`.
 */
export function ignorePoolErrors(client: PgPool | PGliteLike): void {
	if (isPGlite(client) || guarded.has(client)) return
	guarded.add(client)
	client.on('error', ignoreError)
	// Covers a connection that is lost between connecting and being handed out.
	client.on('connect', onConnect)
}

const ignoreError = (): void => {}
const onConnect = (client?: unknown): void => {
	;(client as PgClient).on('error', ignoreError)
}

/**
 * Waiting for a free connection of the user's pool, apart from the statement. A pool that is full is a
 * bottleneck of this process, not a failure of the database. A connection that must be opened is a matter of
 * the database: its errors and its time count.
 */
export interface PoolWait {
	/** True while a statement waits for a connection of a full pool. It is assigned when the statement has its connection, in any case. */
	isWaiting: boolean
	/** Set by the caller: the statement does not run any more. */
	readonly isAbandoned: boolean
}

/** Properties of a `Pool` of `pg`. Other pools may lack them. */
interface PoolProperties {
	readonly totalCount?: number
	readonly idleCount?: number
	readonly waitingCount?: number
	readonly options?: { readonly max?: number }
}

/** Returns true if a statement gets no connection immediately: it waits for another statement, or the pool opens a connection for it. */
export function isWithoutConnection(client: PgPool | PGliteLike): client is PgPool {
	if (isPGlite(client)) return false
	const { idleCount = Infinity, waitingCount = 0 } = client as PoolProperties
	// Statements of the same tick are queued before they get the idle connections.
	return waitingCount >= idleCount
}

/** Returns true if a statement has to wait until another one returns its connection. */
function isFull(pool: PgPool): boolean {
	const { totalCount = 0, idleCount = 0, waitingCount = 0, options } = pool as PoolProperties
	return waitingCount >= idleCount + (options?.max ?? Infinity) - totalCount
}

/** `pg` has no code for its `connectionTimeoutMillis`. */
const isPoolTimeout = (error: unknown): boolean =>
	String(safeGet(error, 'message')).includes('timeout exceeded when trying to connect')

export async function onFreeConnection<T>(
	pool: PgPool,
	wait: PoolWait,
	run: (connection: PgClient) => Promise<T>,
): Promise<T> {
	wait.isWaiting = isFull(pool)
	let connection: PgClient
	try {
		connection = await pool.connect()
	} catch (error) {
		// The pool may have lost a connection, and failed to open another one for this statement.
		wait.isWaiting = isPoolTimeout(error)
		throw error
	}
	if (wait.isAbandoned) {
		connection.release()
		throw new Error('The statement was not run, because its caller has waited too long for a connection')
	}
	wait.isWaiting = false
	let isBroken = true
	try {
		const result = await run(connection)
		isBroken = false
		return result
	} finally {
		// After an error the state of the connection is not known. `pool.query` destroys it too.
		connection.release(isBroken)
	}
}
