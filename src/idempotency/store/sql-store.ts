/** What the stores in SQL databases have in common. */

import { YaokiError } from '../../core/errors/errors.ts'
import { invalidOption } from '../../core/options/schema.ts'
import { isPGlite, type Queryable } from '../../sql/clients.ts'
import { isOrmTransaction } from '../../sql/orms/orm-transaction.ts'
import { recognizeOrm } from '../../sql/orms/recognize.ts'
import type { Migration, MigrationReport } from '../../sql/schema/migration.ts'
import { isPool, transactionState } from '../../sql/transaction-state.ts'
import type { IdempotencyStore } from './store.ts'

/** A store of idempotency keys in a table of a database. */
export interface SqlIdempotencyStore<Tx = unknown> extends IdempotencyStore<Tx> {
	/** The steps that `migrate` runs, as SQL to run by hand. */
	readonly migrations: readonly Migration[]
	/** Creates or updates the table. Several processes may call it concurrently. */
	migrate(): Promise<MigrationReport>
	/** Returns the version of the table, 0 if it does not exist. */
	schemaVersion(): Promise<number>
	transaction: NonNullable<IdempotencyStore<Tx>['transaction']>
	completeIn: NonNullable<IdempotencyStore<Tx>['completeIn']>
	close(): Promise<void>
}

/**
 * Checks the user's transaction in which a response is to be stored. Throws if `tx` belongs to another kind of
 * database, and if it certainly has no open transaction: the response would be stored before the writes that
 * it reports. `expected` is a phrase for the error, `kind` the database of the store.
 */
export function checkUserTransaction<Tx extends Queryable>(
	tx: Queryable,
	accepts: (tx: Queryable) => tx is Tx,
	expected: string,
	kind: string,
): asserts tx is Tx {
	if (!accepts(tx)) invalidOption('tx', tx, recognizeOrm(tx, 'yaoki/idempotency', kind)?.pass ?? expected)
	if (transactionState(tx) !== 'none') return
	throw outsideTransactionError(describe(tx))
}

export const outsideTransactionError = (what: string, cause?: unknown): YaokiError =>
	new YaokiError(
		'YAOKI_IDEMPOTENCY_NO_TRANSACTION',
		`The response cannot be stored in your transaction: tx is ${what}. Call context.complete(response, { tx }) between BEGIN and COMMIT of one connection`,
		cause === undefined ? undefined : { cause },
	)

function describe(tx: Queryable): string {
	if (isOrmTransaction(tx)) return `${tx.description} that has ended`
	if (isPGlite(tx)) return 'PGlite itself, use what db.transaction() passes to its callback'
	return isPool(tx)
		? 'a pool, whose queries may use different connections'
		: 'a client without an open transaction'
}
