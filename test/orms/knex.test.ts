import createKnex, { type Knex } from 'knex'
import { knexTx } from 'yaoki/outbox'
import type { OpenTransaction } from './support/orm.ts'
import { describeOrm } from './support/suite.ts'

const openIn = (trx: Knex.Transaction): OpenTransaction => ({
	own: trx,
	tx: () => knexTx(trx),
	run: (text) => trx.raw(text),
	nested: (work) => trx.transaction((inner) => work(openIn(inner))),
})

describeOrm({
	name: 'Knex',
	function: 'knexTx',
	open(url) {
		const knex = createKnex({ client: 'pg', connection: url, pool: { min: 0, max: 4 } })
		return {
			transaction: (work) => knex.transaction((trx) => work(openIn(trx))),
			close: () => knex.destroy(),
			knex,
		}
	},
	misuses: [(database) => knexTx(Object(database).knex)],
})
