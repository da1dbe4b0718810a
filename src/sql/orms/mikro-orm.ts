/**
 * MikroORM. Its `em.execute` writes values into the text, so the statement runs on the query builder beneath: the
 * transaction context is a transaction of Kysely in version 7, and one of Knex in version 6.
 */
import { invalidArgument } from '../../core/options/schema.ts'
import { isKnexTransaction, knexTransaction } from './knex.ts'
import { isKyselyTransaction, kyselyTransaction } from './kysely.ts'
import { hasMethods, type OrmTransaction, oncePer, type TxClient } from './orm-transaction.ts'

interface MikroOrmEntityManager {
	isInTransaction(): boolean
	getTransactionContext(): unknown
}

const EXPECTED =
	'the em that em.transactional() of MikroORM passes to its callback, or an em after em.begin()'

/**
 * Returns the transaction of MikroORM on PostgreSQL as the option `tx` of `outbox.enqueue`, `inbox.once` and
 * `context.complete`. Throws for an `em` outside a transaction.
 *
 * @example
 * await orm.em.fork().transactional(async (em) => {
 *   em.persist(em.create(Order, order))
 *   await em.flush()
 *   await outbox.enqueue({ topic: 'order.placed', payload: order }, { tx: mikroOrmTx(em) })
 * })
 */
export function mikroOrmTx(em: MikroOrmEntityManager): TxClient {
	if (!hasMethods(em, 'isInTransaction', 'getTransactionContext') || !em.isInTransaction())
		invalidArgument('em', em, EXPECTED)
	const context = em.getTransactionContext()
	if (isKyselyTransaction(context)) return oncePer(context, () => kyselyTransaction('MikroORM', context))
	if (isKnexTransaction(context))
		return oncePer(context, (): OrmTransaction => knexTransaction('MikroORM', context))
	return invalidArgument('em', em, `${EXPECTED}, on PostgreSQL`)
}
