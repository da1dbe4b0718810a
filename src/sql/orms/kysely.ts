/** Kysely. A transaction of its callback form shows no state; one that the program ends itself does. */
import { invalidArgument } from '../../core/options/schema.ts'
import {
	checkIsPostgres,
	hasMethods,
	isWithoutCode,
	OrmTransaction,
	oncePer,
	property,
	type TxClient,
} from './orm-transaction.ts'

/** What `CompiledQuery.raw` returns. */
interface RawQuery {
	readonly sql: string
	readonly parameters: readonly unknown[]
	readonly query: {
		readonly kind: 'RawNode'
		readonly sqlFragments: readonly string[]
		readonly parameters: readonly never[]
	}
	readonly queryId: { readonly queryId: string }
}

interface KyselyTransaction {
	/** False on the database object itself. */
	readonly isTransaction: true
	executeQuery(query: RawQuery): Promise<{ readonly rows: readonly unknown[] }>
}

/**
 * Returns the transaction of Kysely on PostgreSQL as the option `tx` of `outbox.enqueue`, `inbox.once` and
 * `context.complete`. Throws for the database object itself.
 *
 * @example
 * const db = new Kysely<Database>({ dialect })
 * await db.transaction().execute(async (trx) => {
 *   await trx.insertInto('orders').values(order).execute()
 *   await outbox.enqueue({ topic: 'order.placed', payload: order }, { tx: kyselyTx(trx) })
 * })
 */
export function kyselyTx(trx: KyselyTransaction): TxClient {
	if (!isKyselyTransaction(trx))
		invalidArgument(
			'trx',
			trx,
			'the trx that db.transaction().execute() of Kysely passes to its callback, not db',
		)
	return oncePer(trx, () => kyselyTransaction('Kysely', trx))
}

export const isKyselyTransaction = (trx: unknown): trx is KyselyTransaction =>
	hasMethods(trx, 'executeQuery') && property(trx, 'isTransaction') === true

/** MikroORM 7 runs its transactions on Kysely. */
export function kyselyTransaction(orm: string, trx: KyselyTransaction): OrmTransaction {
	checkIsPostgres(orm, trx, adapterOf(trx))
	const endsItself = typeof property(trx, 'isCommitted') === 'boolean'
	return new OrmTransaction({
		orm,
		run: async (text, values) => ({ rows: (await trx.executeQuery(rawQuery(text, values))).rows }),
		isOpen: endsItself
			? () => property(trx, 'isCommitted') !== true && property(trx, 'isRolledBack') !== true
			: undefined,
		// Kysely's error after the end has no code.
		isEnd: isWithoutCode,
	})
}

const rawQuery = (text: string, values: readonly unknown[]): RawQuery => ({
	sql: text,
	parameters: values,
	query: { kind: 'RawNode', sqlFragments: [text], parameters: [] },
	queryId: { queryId: 'yaoki' },
})

/** `PostgresAdapter`, `MysqlAdapter`, ... A minified name says nothing. */
function adapterOf(trx: KyselyTransaction): string | undefined {
	const getExecutor = property(trx, 'getExecutor')
	if (typeof getExecutor !== 'function') return undefined
	const name = property(getExecutor.call(trx), 'adapter', 'constructor', 'name')
	return typeof name === 'string' && name.endsWith('Adapter') ? name.slice(0, -'Adapter'.length) : undefined
}
