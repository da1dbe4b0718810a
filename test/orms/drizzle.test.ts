import { PGlite } from '@electric-sql/pglite'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePGlite } from 'drizzle-orm/pglite'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import pg from 'pg'
import postgres from 'postgres'
import { drizzleTx } from 'yaoki/outbox'
import type { Orm } from './support/orm.ts'
import { describeOrm } from './support/suite.ts'

const nodePostgres: Orm = {
	name: 'Drizzle with node-postgres',
	function: 'drizzleTx',
	open(url) {
		const pool = new pg.Pool({ connectionString: url, max: 4 })
		const db = drizzle(pool)
		return {
			transaction: (work) =>
				db.transaction((tx) =>
					work({ own: tx, tx: () => drizzleTx(tx), run: async (text) => tx.execute(sql.raw(text)) }),
				),
			close: () => pool.end(),
			db,
		}
	},
	misuses: [(database) => drizzleTx(Object(database).db), () => drizzleTx({} as never)],
}

const postgresJs: Orm = {
	name: 'Drizzle with postgres.js',
	dropsLateQueries: true,
	function: 'drizzleTx',
	open(url) {
		const client = postgres(url, { max: 4 })
		const db = drizzlePostgresJs(client)
		return {
			transaction: (work) =>
				db.transaction((tx) =>
					work({ own: tx, tx: () => drizzleTx(tx), run: async (text) => tx.execute(sql.raw(text)) }),
				),
			close: () => client.end(),
			db,
		}
	},
	misuses: [(database) => drizzleTx(Object(database).db)],
}

const pglite: Orm = {
	name: 'Drizzle with PGlite',
	function: 'drizzleTx',
	isInProcess: true,
	open() {
		const client = new PGlite()
		const db = drizzlePGlite(client)
		return {
			transaction: (work) =>
				db.transaction((tx) =>
					work({ own: tx, tx: () => drizzleTx(tx), run: async (text) => tx.execute(sql.raw(text)) }),
				),
			close: () => client.close(),
			storeClient: client,
			db,
		}
	},
	misuses: [(database) => drizzleTx(Object(database).db)],
}

describeOrm(nodePostgres)
describeOrm(postgresJs)
describeOrm(pglite)
