/**
 * Drizzle. Its session has the driver's own client, which shows the state of the transaction and accepts a text
 * with values; `tx.execute` accepts neither `$1` parameters nor shows a state.
 */
import { invalidArgument } from '../../core/options/schema.ts'
import {
	checkIsPostgres,
	hasMethods,
	OrmTransaction,
	oncePer,
	property,
	type TxClient,
	transactionClosedError,
} from './orm-transaction.ts'
import { PgTransactionClient, showsStatus } from './pg-transaction-client.ts'
import { postgresJsTx } from './postgres-js.ts'

const DRIZZLE = 'Drizzle'

interface DrizzleTransaction {
	rollback(): unknown
	readonly _: { readonly session?: unknown }
}

interface DrizzleSqliteTransaction {
	rollback(): unknown
	run(query: never): unknown
}

type SqliteValue = string | number | null

/** Written out, so that users can name it. */
type SqliteTx = {
	readonly inTransaction?: boolean
	prepare(sql: string): {
		readonly all: {
			(numbered: Record<string, SqliteValue>): unknown[]
			(...params: SqliteValue[]): unknown[]
		}
		readonly run?: {
			(numbered: Record<string, SqliteValue>): unknown
			(...params: SqliteValue[]): unknown
		}
		readonly reader?: boolean
	}
}

/** Drizzle names its classes by this symbol, also in minified programs. */
const KIND = Symbol.for('drizzle:entityKind')

export function drizzleKind(value: unknown): string | undefined {
	const kind = (property(value, 'constructor') as { readonly [KIND]?: unknown } | undefined)?.[KIND]
	return typeof kind === 'string' ? kind : undefined
}

/**
 * Returns the transaction of Drizzle as the option `tx` of `outbox.enqueue`, `inbox.once` and `context.complete`:
 * with `node-postgres`, `postgres-js` and `pglite`. With `better-sqlite3` it is the option of `enqueueSync` and
 * `onceSync`. Throws for the database object itself.
 *
 * @example
 * const db = drizzle(pool)
 * await db.transaction(async (tx) => {
 *   await tx.insert(orders).values(order)
 *   await outbox.enqueue({ topic: 'order.placed', payload: order }, { tx: drizzleTx(tx) })
 * })
 */
export function drizzleTx(tx: DrizzleSqliteTransaction): SqliteTx
export function drizzleTx(tx: DrizzleTransaction): TxClient
export function drizzleTx(tx: DrizzleTransaction | DrizzleSqliteTransaction): TxClient | SqliteTx {
	if (!hasMethods(tx, 'rollback') || property(tx, '_') === undefined)
		invalidArgument('tx', tx, 'the tx that db.transaction() of Drizzle passes to its callback, not db')
	const client = property(tx, '_', 'session', 'client') ?? property(tx, 'session', 'client')
	if (isSqlite(client)) {
		if (client.inTransaction === false) throw transactionClosedError(DRIZZLE)
		return client
	}
	checkIsPostgres(DRIZZLE, tx, drizzleKind(property(tx, 'dialect'))?.replace(/Dialect$/, ''))
	if (isPostgresJs(client)) return postgresJsTx(client)
	return oncePer(tx, () => {
		if (showsStatus(client)) return new PgTransactionClient(DRIZZLE, client)
		if (!hasQuery(client))
			return invalidArgument(
				'tx',
				tx,
				'a transaction with node-postgres, postgres-js, pglite or better-sqlite3',
			)
		return new OrmTransaction({
			orm: DRIZZLE,
			run: (text, values) => client.query(text, values),
			// Early versions of PGlite do not close a transaction that is rolled back, so PostgreSQL is asked too.
			isOpen: typeof property(client, 'closed') === 'boolean' ? () => !property(client, 'closed') : undefined,
		})
	})
}

const isSqlite = (client: unknown): client is SqliteTx =>
	hasMethods(client, 'prepare') && typeof property(client, 'inTransaction') === 'boolean'

const isPostgresJs = (client: unknown): client is Parameters<typeof postgresJsTx>[0] =>
	hasMethods(client, 'unsafe', 'savepoint')

const hasQuery = (client: unknown): client is Pick<OrmTransaction, 'query'> => hasMethods(client, 'query')
