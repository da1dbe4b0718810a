/** Prisma. It rejects queries after the end of a transaction, with code P2028. */
import { invalidArgument } from '../../core/options/schema.ts'
import {
	checkIsPostgres,
	hasMethods,
	OrmTransaction,
	oncePer,
	property,
	type TxClient,
} from './orm-transaction.ts'

interface PrismaTransaction {
	$queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>
	/** A method of the client itself. */
	readonly $connect?: undefined
}

const isRows = (result: unknown): result is readonly unknown[] => Array.isArray(result)

/**
 * Returns the transaction of Prisma on PostgreSQL as the option `tx` of `outbox.enqueue`, `inbox.once` and
 * `context.complete`. Throws for the `PrismaClient` itself.
 *
 * @example
 * await prisma.$transaction(async (tx) => {
 *   await tx.order.create({ data: order })
 *   await outbox.enqueue({ topic: 'order.placed', payload: order }, { tx: prismaTx(tx) })
 * })
 */
export function prismaTx(tx: PrismaTransaction): TxClient {
	if (!hasMethods(tx, '$queryRawUnsafe') || hasMethods(tx, '$connect'))
		invalidArgument(
			'tx',
			tx,
			'the tx that prisma.$transaction() of Prisma passes to its callback, not the PrismaClient',
		)
	checkIsPostgres('Prisma', tx, property(tx, '_activeProvider'))
	return oncePer(
		tx,
		() =>
			new OrmTransaction({
				orm: 'Prisma',
				run: async (text, values) => {
					const rows = await tx.$queryRawUnsafe(text, ...values)
					return isRows(rows) ? rows : []
				},
				isEnd: (error) => property(error, 'code') === 'P2028',
				// A query after the end never reaches the database.
				mustAsk: false,
			}),
	)
}
