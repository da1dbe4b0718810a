import postgres from 'postgres'
import { postgresJsTx } from 'yaoki/outbox'
import type { OpenTransaction } from './support/orm.ts'
import { describeOrm } from './support/suite.ts'

/** Its types unwrap what the callback returns. */
async function resultOf<T>(
	begin: (callback: (sql: postgres.TransactionSql) => Promise<void>) => Promise<unknown>,
	work: (open: OpenTransaction) => Promise<T>,
): Promise<T> {
	const results: T[] = []
	await begin(async (sql) => {
		results.push(await work(openIn(sql)))
	})
	return results[0] as T
}

const openIn = (sql: postgres.TransactionSql): OpenTransaction => ({
	own: sql,
	tx: () => postgresJsTx(sql),
	run: (text) => sql.unsafe(text),
	nested: (work) => resultOf((callback) => sql.savepoint(callback), work),
})

describeOrm({
	name: 'postgres.js',
	dropsLateQueries: true,
	function: 'postgresJsTx',
	open(url) {
		const client = postgres(url, { max: 4 })
		return {
			transaction: (work) => resultOf((callback) => client.begin(callback), work),
			close: () => client.end(),
			client,
		}
	},
	misuses: [(database) => postgresJsTx(Object(database).client)],
})
