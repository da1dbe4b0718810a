import { PGlite } from '@electric-sql/pglite'
import { type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePGlite } from 'drizzle-orm/pglite'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import pg from 'pg'
import postgres from 'postgres'
import { drizzleTx } from 'yaoki/outbox'
import type { OpenTransaction, Orm } from './support/orm.ts'
import { describeOrm } from './support/suite.ts'

/** What the transactions of all drivers have. */
interface DrizzleTx {
	execute(query: SQL): PromiseLike<unknown>
	transaction<T>(work: (tx: DrizzleTx) => Promise<T>): Promise<T>
}

const openIn = (tx: DrizzleTx & Parameters<typeof drizzleTx>[0]): OpenTransaction => ({
	own: tx,
	tx: () => drizzleTx(tx),
	run: async (text) => tx.execute(sql.raw(text)),
	nested: (work) => tx.transaction((inner) => work(openIn(inner as typeof tx))),
})

const nodePostgres: Orm = {
	name: 'Drizzle with node-postgres',
	function: 'drizzleTx',
	open(url) {
		const pool = new pg.Pool({ connectionString: url, max: 4 })
		const db = drizzle(pool)
		return {
			transaction: (work) => db.transaction((tx) => work(openIn(tx))),
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
			transaction: (work) => db.transaction((tx) => work(openIn(tx))),
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
			transaction: (work) => db.transaction((tx) => work(openIn(tx))),
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
