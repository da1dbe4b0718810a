import postgres from 'postgres'
import { postgresJsTx } from 'yaoki/outbox'
import type { OpenTransaction } from './support/orm.ts'
import { describeOrm } from './support/suite.ts'

const openOn = (sql: postgres.TransactionSql): OpenTransaction => ({
	own: sql,
	tx: () => postgresJsTx(sql),
	run: (text) => sql.unsafe(text),
	nested: async (work) => {
		const results: Awaited<ReturnType<typeof work>>[] = []
		await sql.savepoint(async (nested) => {
			results.push(await work(openOn(nested)))
		})
		return results[0] as (typeof results)[number]
	},
})

describeOrm({
	name: 'postgres.js',
	function: 'postgresJsTx',
	open(url) {
		const client = postgres(url, { max: 4 })
		return {
			transaction: async (work) => {
				const results: Awaited<ReturnType<typeof work>>[] = []
				await client.begin(async (sql) => {
					results.push(await work(openOn(sql)))
				})
				return results[0] as (typeof results)[number]
			},
			close: () => client.end(),
			client,
		}
	},
	misuses: [(database) => postgresJsTx(Object(database).client)],
})
