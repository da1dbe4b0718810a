import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { kyselyTx } from 'yaoki/outbox'
import type { Orm } from './support/orm.ts'
import { describeOrm } from './support/suite.ts'

const open = (url: string) =>
	new Kysely<object>({
		dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: 4 }) }),
	})

const callback: Orm = {
	name: 'Kysely',
	function: 'kyselyTx',
	open(url) {
		const db = open(url)
		return {
			transaction: (work) =>
				db.transaction().execute((trx) =>
					work({
						own: trx,
						tx: () => kyselyTx(trx),
						run: (text) => trx.executeQuery(CompiledQuery.raw(text)),
					}),
				),
			close: () => db.destroy(),
			db,
		}
	},
	misuses: [(database) => kyselyTx(Object(database).db)],
}

const controlled: Orm = {
	...callback,
	name: 'Kysely, a transaction that the program ends',
	open(url) {
		const db = open(url)
		return {
			transaction: async (work) => {
				const trx = await db.startTransaction().execute()
				try {
					const run = (text: string) => trx.executeQuery(CompiledQuery.raw(text))
					const result = await work({ own: trx, tx: () => kyselyTx(trx), run })
					await trx.commit().execute()
					return result
				} catch (error) {
					await trx.rollback().execute()
					throw error
				}
			},
			close: () => db.destroy(),
			db,
		}
	},
}

describeOrm(callback)
describeOrm(controlled)
