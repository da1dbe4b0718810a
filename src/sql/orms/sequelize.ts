/** Sequelize. Its `query` takes options where drivers take values, so the transaction is passed there. */
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

/** Its type does not declare the properties `sequelize` and `finished`, which it has since version 3. */
interface SequelizeTransaction {
	commit(): Promise<void>
	rollback(): Promise<void>
	afterCommit(run: never): unknown
}

interface Sequelize {
	getDialect(): string
	query(
		text: string,
		options: { bind: readonly unknown[]; transaction: unknown; type: 'SELECT'; raw: true },
	): Promise<readonly unknown[]>
}

/**
 * Returns the transaction of Sequelize on PostgreSQL as the option `tx` of `outbox.enqueue`, `inbox.once` and
 * `context.complete`. Throws for the `Sequelize` object itself.
 *
 * @example
 * await sequelize.transaction(async (transaction) => {
 *   await Order.create(order, { transaction })
 *   await outbox.enqueue({ topic: 'order.placed', payload: order }, { tx: sequelizeTx(transaction) })
 * })
 */
export function sequelizeTx(transaction: SequelizeTransaction): TxClient {
	const sequelize = property(transaction, 'sequelize')
	if (!hasMethods(transaction, 'afterCommit') || !isSequelize(sequelize))
		return invalidArgument(
			'transaction',
			transaction,
			'the transaction that sequelize.transaction() of Sequelize passes to its callback, not sequelize',
		)
	checkIsPostgres('Sequelize', transaction, sequelize.getDialect())
	return oncePer(
		transaction,
		() =>
			new OrmTransaction({
				orm: 'Sequelize',
				// With type SELECT it returns the rows of any statement.
				run: (text, bind) => sequelize.query(text, { bind, transaction, type: 'SELECT', raw: true }),
				isOpen: () => property(transaction, 'finished') === undefined,
				isEnd: isWithoutCode,
			}),
	)
}

const isSequelize = (value: unknown): value is Sequelize => hasMethods(value, 'query', 'getDialect')
