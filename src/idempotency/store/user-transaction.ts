/** Checks the transaction of the user in which a response is to be stored. */
import { YaokiError } from '../../core/errors/errors.ts'
import { invalidOption } from '../../core/options/schema.ts'
import { isPGlite, type Queryable } from '../../sql/clients.ts'
import { isPool, transactionState } from '../../sql/transaction-state.ts'

/**
 * Throws if `tx` is of another kind of database, and if it certainly has no open transaction: the response would be stored before the writes that it
 * reports. `expected` is a phrase for the error.
 */
export function checkUserTransaction<Tx extends Queryable>(
	tx: Queryable,
	accepts: (tx: Queryable) => tx is Tx,
	expected: string,
): asserts tx is Tx {
	if (!accepts(tx)) invalidOption('tx', tx, expected)
	if (transactionState(tx) !== 'none') return
	throw new YaokiError(
		'YAOKI_IDEMPOTENCY_NO_TRANSACTION',
		`The response cannot be stored in your transaction: tx is ${describe(tx)}. Call context.complete(response, { tx }) between BEGIN and COMMIT of one connection`,
	)
}

function describe(tx: Queryable): string {
	if (isPGlite(tx)) return 'PGlite itself, use what db.transaction() passes to its callback'
	return isPool(tx)
		? 'a pool, whose queries may use different connections'
		: 'a client without an open transaction'
}
