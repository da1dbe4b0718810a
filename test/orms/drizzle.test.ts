import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import pg from 'pg'
import postgres from 'postgres'
import { drizzleTx } from 'yaoki/outbox'
import type { OpenTransaction, Orm } from './support/orm.ts'
import { describeOrm } from './support/suite.ts'

type Tx = Parameters<typeof drizzleTx>[0] & {
	execute(query: ReturnType<typeof sql.raw>): PromiseLike<unknown>
	transaction<T>(work: (nested: Tx) => Promise<T>): Promise<T>
}

const openOn = (tx: Tx): OpenTransaction => ({
	own: tx,
	tx: () => drizzleTx(tx),
	run: async (text) => tx.execute(sql.raw(text)),
	nested: (work) => tx.transaction((nested) => work(openOn(nested))),
})

const nodePostgres: Orm = {
	name: 'Drizzle with node-postgres',
	function: 'drizzleTx',
	open(url) {
		const pool = new pg.Pool({ connectionString: url, max: 4 })
		const db = drizzle(pool)
		return {
			transaction: (work) => db.transaction((tx) => work(openOn(tx))),
			close: () => pool.end(),
			db,
		}
	},
	misuses: [(database) => drizzleTx(Object(database).db), () => drizzleTx({} as never)],
}

const postgresJs: Orm = {
	name: 'Drizzle with postgres.js',
	function: 'drizzleTx',
	open(url) {
		const client = postgres(url, { max: 4 })
		const db = drizzlePostgresJs(client)
		return {
			transaction: (work) => db.transaction((tx) => work(openOn(tx))),
			close: () => client.end(),
			db,
		}
	},
	misuses: [(database) => drizzleTx(Object(database).db)],
}

describeOrm(nodePostgres)
describeOrm(postgresJs)
