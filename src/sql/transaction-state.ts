/**
 * Reads the state of a user's transaction from the client object, without a query: a query in a foreign
 * transaction costs a round trip, and aborts the transaction when it fails.
 */
import { isPGlite, type Queryable, type SqlClient } from './clients.ts'

/** Properties of a `pg` client or pool, `node:sqlite`, `better-sqlite3` and PGlite; each may be missing. */
interface ClientProperties {
	readonly connect?: unknown
	readonly totalCount?: unknown
	readonly getTransactionStatus?: unknown
	readonly readyForQuery?: unknown
	readonly isTransaction?: unknown
	readonly inTransaction?: unknown
	readonly isInTransaction?: unknown
}

export type TransactionState = 'open' | 'none' | 'unknown'

/** Returns true for a `pg` pool, which has no transaction: each of its queries may use another connection. */
export const isPool = (tx: Queryable): boolean => {
	const { connect, totalCount } = tx as ClientProperties
	return typeof connect === 'function' && typeof totalCount === 'number'
}

/** Returns true if the client exposes its transaction state. For other clients only the database may know. */
export function exposesState(tx: Queryable): boolean {
	const { isTransaction, inTransaction, isInTransaction, getTransactionStatus } = tx as ClientProperties
	const hasMethod = typeof isInTransaction === 'function' || typeof getTransactionStatus === 'function'
	return hasMethod || typeof (isTransaction ?? inTransaction) === 'boolean' || isPool(tx)
}

/** Returns whether a transaction is open on the client now. */
export function transactionState(tx: Queryable): TransactionState {
	try {
		return readState(tx)
	} catch {
		// A database that is closed, or not open yet, has no transaction.
		return 'none'
	}
}

function readState(tx: Queryable): TransactionState {
	const { isTransaction, inTransaction, isInTransaction, readyForQuery } = tx as ClientProperties
	const isOpen = isTransaction ?? inTransaction
	if (typeof isOpen === 'boolean') return isOpen ? 'open' : 'none'
	if (isPGlite(tx) && typeof isInTransaction === 'function')
		return isInTransaction.call(tx) === true ? 'open' : 'none'
	if (isPool(tx)) return 'none'
	const status = serverStatus(tx)
	if (status === 'T' || status === 'E') return 'open'
	// The response to a BEGIN may still be on its way.
	return status === 'I' && readyForQuery !== false ? 'none' : 'unknown'
}

/** Returns the status of the server's latest response, for a `pg` client: 'I' idle, 'T' in a transaction, 'E' in a failed one. */
export function serverStatus(tx: Queryable): unknown {
	const { getTransactionStatus } = tx as ClientProperties
	return typeof getTransactionStatus === 'function' ? getTransactionStatus.call(tx) : undefined
}

/** Returns whether a transaction is open on a client of PostgreSQL; undefined if the client does not expose it. False without a client. */
export function isInTransaction(tx: SqlClient | undefined): boolean | undefined {
	if (tx === undefined) return false
	const { rollback, transaction, closed } = tx as {
		readonly rollback?: unknown
		readonly transaction?: unknown
		readonly closed?: unknown
	}
	// A PGlite transaction. Early versions do not close one that is rolled back, and run its later statements outside.
	if (typeof rollback === 'function' && transaction === undefined) return closed === true ? false : undefined
	const state = transactionState(tx)
	return state === 'unknown' ? undefined : state === 'open'
}

/**
 * Waits until a `pg` client shows its state. While a statement is in flight it shows an older one, and a statement
 * that fails is rejected before the server's new status has arrived.
 */
export async function untilStateIsKnown(tx: SqlClient): Promise<void> {
	const { readyForQuery } = tx as ClientProperties
	if (readyForQuery === false) await tx.query('select 1').catch(() => {})
}
