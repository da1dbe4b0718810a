/** TypeORM. Its `query` takes values as drivers do, and returns rows in another shape for UPDATE and DELETE. */
import { invalidArgument } from '../../core/options/schema.ts'
import {
	checkIsPostgres,
	hasMethods,
	OrmTransaction,
	oncePer,
	property,
	type TxClient,
} from './orm-transaction.ts'

interface TypeOrmQueryRunner {
	readonly isTransactionActive: boolean
	readonly isReleased: boolean
	query(text: string, values?: unknown[]): Promise<unknown>
}

interface TypeOrmManager {
	/** Undefined on the manager of a DataSource, which has no transaction. */
	readonly queryRunner?: TypeOrmQueryRunner | undefined
}

/**
 * Returns the transaction of TypeORM on PostgreSQL as the option `tx` of `outbox.enqueue`, `inbox.once` and
 * `context.complete`: an `EntityManager` or a `QueryRunner` with an open transaction. Throws for a `DataSource` and
 * its `manager`.
 *
 * @example
 * await dataSource.transaction(async (manager) => {
 *   await manager.save(Order, order)
 *   await outbox.enqueue({ topic: 'order.placed', payload: order }, { tx: typeormTx(manager) })
 * })
 */
export function typeormTx(tx: TypeOrmManager | TypeOrmQueryRunner): TxClient {
	const runner = isRunner(tx) ? tx : property(tx, 'queryRunner')
	if (!isRunner(runner))
		return invalidArgument(
			'tx',
			tx,
			'the manager that dataSource.transaction() of TypeORM passes to its callback, or a QueryRunner, not the DataSource or its manager',
		)
	const source = property(runner, 'dataSource') ?? property(runner, 'connection')
	checkIsPostgres('TypeORM', tx, property(source, 'options', 'type'))
	return oncePer(
		runner,
		() =>
			new OrmTransaction({
				orm: 'TypeORM',
				run: async (text, values) => ({ rows: rowsOf(await runner.query(text, values)) }),
				isOpen: () => runner.isTransactionActive && !runner.isReleased,
			}),
	)
}

const isRunner = (value: unknown): value is TypeOrmQueryRunner =>
	hasMethods(value, 'query') && typeof property(value, 'isTransactionActive') === 'boolean'

/** Rows, or for UPDATE and DELETE the rows and their number. */
function rowsOf(result: unknown): readonly unknown[] {
	if (!Array.isArray(result)) return []
	const [rows] = result
	return Array.isArray(rows) ? rows : result
}
