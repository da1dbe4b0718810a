/** postgres.js. Its transaction still runs queries after its end, outside of a transaction, and shows no state. */
import { invalidArgument } from '../../core/options/schema.ts'
import { hasMethods, OrmTransaction, oncePer, type TxClient } from './orm-transaction.ts'

interface PostgresJsTransaction {
	unsafe(text: string, values?: never[]): PromiseLike<readonly unknown[]>
	savepoint(name: never, run: never): unknown
}

interface PostgresJsRunner {
	unsafe(text: string, values: unknown[]): PromiseLike<readonly unknown[]>
}

const isTransaction = (sql: unknown): sql is PostgresJsRunner => hasMethods(sql, 'unsafe', 'savepoint')

/**
 * Returns the transaction of postgres.js as the option `tx` of `outbox.enqueue`, `inbox.once` and
 * `context.complete`. Throws for the `sql` of the whole program.
 *
 * @example
 * const sql = postgres(url)
 * await sql.begin(async (sql) => {
 *   await sql`insert into orders ${sql(order)}`
 *   await outbox.enqueue({ topic: 'order.placed', payload: order }, { tx: postgresJsTx(sql) })
 * })
 */
export function postgresJsTx(sql: PostgresJsTransaction): TxClient {
	if (!isTransaction(sql))
		invalidArgument('sql', sql, 'the sql that sql.begin() of postgres.js passes to its callback')
	const run = (text: string, values: unknown[]) => sql.unsafe(text, values)
	return oncePer(sql, () => new OrmTransaction({ orm: 'postgres.js', run }))
}
