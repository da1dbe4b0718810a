/** Knex. Its parameters are question marks in order, so a text with `$1` is rewritten. */
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

interface KnexTransaction {
	raw(text: string, values: never): PromiseLike<unknown>
	isCompleted(): boolean
}

interface KnexRunner {
	raw(text: string, values: readonly unknown[]): PromiseLike<unknown>
	isCompleted(): boolean
}

/**
 * Returns the transaction of Knex on PostgreSQL as the option `tx` of `outbox.enqueue`, `inbox.once` and
 * `context.complete`. Throws for the `knex` of the whole program.
 *
 * @example
 * await knex.transaction(async (trx) => {
 *   await trx('orders').insert(order)
 *   await outbox.enqueue({ topic: 'order.placed', payload: order }, { tx: knexTx(trx) })
 * })
 */
export function knexTx(trx: KnexTransaction): TxClient {
	if (!isKnexTransaction(trx))
		invalidArgument('trx', trx, 'the trx that knex.transaction() of Knex passes to its callback, not knex')
	return oncePer(trx, () => knexTransaction('Knex', trx))
}

/** `isTransaction` also of transactions that have ended. */
export const isKnexTransaction = (trx: unknown): trx is KnexRunner =>
	hasMethods(trx, 'raw', 'isCompleted') && property(trx, 'isTransaction') === true

/** MikroORM 6 runs its transactions on Knex. */
export function knexTransaction(orm: string, trx: KnexRunner): OrmTransaction {
	checkIsPostgres(orm, trx, property(trx, 'client', 'dialect'))
	return new OrmTransaction({
		orm,
		run: async (text, values) => {
			const { sql, bindings } = toQuestionMarks(text, values)
			const rows = property(await trx.raw(sql, bindings), 'rows')
			return { rows: Array.isArray(rows) ? rows : [] }
		},
		isOpen: () => !trx.isCompleted(),
		isEnd: isWithoutCode,
	})
}

/** Parameters, and question marks that are not: Knex leaves those with a backslash as they are. */
const MARKS = /\$(\d+)|\?/g

/** A value that the text repeats is bound again at each of its places. */
export function toQuestionMarks(
	text: string,
	values: readonly unknown[],
): { readonly sql: string; readonly bindings: readonly unknown[] } {
	const bindings: unknown[] = []
	const sql = text.replaceAll(MARKS, (_, number: string | undefined) => {
		if (number === undefined) return '\\?'
		bindings.push(values[Number(number) - 1])
		return '?'
	})
	return { sql, bindings }
}
