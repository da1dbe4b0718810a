import createKnex from 'knex'
import { knexTx } from 'yaoki/outbox'
import { describeOrm } from './support/suite.ts'

describeOrm({
	name: 'Knex',
	function: 'knexTx',
	open(url) {
		const knex = createKnex({ client: 'pg', connection: url, pool: { min: 0, max: 4 } })
		return {
			transaction: (work) =>
				knex.transaction((trx) => work({ own: trx, tx: () => knexTx(trx), run: (text) => trx.raw(text) })),
			close: () => knex.destroy(),
			knex,
		}
	},
	misuses: [(database) => knexTx(Object(database).knex)],
})
