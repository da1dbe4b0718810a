import postgres from 'postgres'
import { postgresJsTx } from 'yaoki/outbox'
import { describeOrm } from './support/suite.ts'

describeOrm({
	name: 'postgres.js',
	dropsLateQueries: true,
	function: 'postgresJsTx',
	open(url) {
		const client = postgres(url, { max: 4 })
		return {
			transaction: async (work) => {
				const results: Awaited<ReturnType<typeof work>>[] = []
				await client.begin(async (sql) => {
					results.push(await work({ own: sql, tx: () => postgresJsTx(sql), run: (text) => sql.unsafe(text) }))
				})
				return results[0] as (typeof results)[number]
			},
			close: () => client.end(),
			client,
		}
	},
	misuses: [(database) => postgresJsTx(Object(database).client)],
})
