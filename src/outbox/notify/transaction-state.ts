/**
 * What a user's `tx` tells of its transaction without being asked by a query: a question in somebody else's transaction costs a
 * round trip, and ends the transaction when it fails.
 */
import type { Queryable } from '../store/queryable.ts'

/** What a `pg` client and pool, `node:sqlite` and PGlite have on them; each may be missing. */
interface Clues {
	readonly connect?: unknown
	readonly totalCount?: unknown
	readonly getTransactionStatus?: unknown
	readonly readyForQuery?: unknown
	readonly isTransaction?: unknown
	readonly isInTransaction?: unknown
	readonly transaction?: unknown
	readonly listen?: unknown
	readonly rollback?: unknown
}

export type TransactionState = 'open' | 'none' | 'unknown'

/** Every query of a `pg` pool may go to another connection: there is no transaction of a pool. */
export const isPool = (tx: Queryable): boolean => {
	const { connect, totalCount } = tx as Clues
	return typeof connect === 'function' && typeof totalCount === 'number'
}

/** PGlite itself, and not one of its transactions, which are objects of their own. */
export const isPGlite = (tx: Queryable): boolean => {
	const { transaction, listen, rollback } = tx as Clues
	return typeof transaction === 'function' && typeof listen === 'function' && rollback === undefined
}

/** Can it tell at all? Of others only the database may know. */
export function tellsState(tx: Queryable): boolean {
	const { isTransaction, isInTransaction, getTransactionStatus } = tx as Clues
	const isAble = typeof isInTransaction === 'function' || typeof getTransactionStatus === 'function'
	return isAble || typeof isTransaction === 'boolean' || isPool(tx)
}

/** Is a transaction open on it at this moment? */
export function transactionState(tx: Queryable): TransactionState {
	try {
		return stateBy(tx)
	} catch {
		// A database that was closed, or is not open yet, has no transaction.
		return 'none'
	}
}

function stateBy(tx: Queryable): TransactionState {
	const { isTransaction, isInTransaction, readyForQuery } = tx as Clues
	if (typeof isTransaction === 'boolean') return isTransaction ? 'open' : 'none'
	if (isPGlite(tx) && typeof isInTransaction === 'function')
		return isInTransaction.call(tx) === true ? 'open' : 'none'
	if (isPool(tx)) return 'none'
	const status = serverStatus(tx)
	if (status === 'T' || status === 'E') return 'open'
	// A BEGIN that is on its way has not been answered yet.
	return status === 'I' && readyForQuery !== false ? 'none' : 'unknown'
}

/** What the server said with its latest answer: idle, in a transaction, in a failed one. Only of a `pg` client. */
export function serverStatus(tx: Queryable): unknown {
	const { getTransactionStatus } = tx as Clues
	return typeof getTransactionStatus === 'function' ? getTransactionStatus.call(tx) : undefined
}
