import pg from 'pg'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type PostgresDatabase, postgresDatabase } from './postgres-database.ts'

export interface PostgresPool {
	readonly pool: pg.Pool
	/** Of the database, for other processes. */
	readonly url: string
	/** A pool as another process would have it. It is ended after the test. */
	anotherPool(settings?: pg.PoolConfig): pg.Pool
}

/** One real PostgreSQL with a pool for all tests of a file or `describe`. Both exist as soon as the tests start. */
export function postgresPool(): PostgresPool {
	let database: PostgresDatabase
	let pool: pg.Pool
	const others: pg.Pool[] = []
	beforeAll(async () => {
		database = await postgresDatabase()
		pool = new pg.Pool({ ...database.connection, max: 6 })
	}, 60_000)
	afterEach(async () => {
		for (const other of others.splice(0)) if (!other.ended) await other.end()
	})
	afterAll(async () => {
		await pool?.end()
		await database?.[Symbol.asyncDispose]()
	})
	return {
		get pool() {
			return pool
		},
		get url() {
			return database.url
		},
		anotherPool(settings = {}) {
			const other = new pg.Pool({ ...database.connection, max: 4, ...settings })
			others.push(other)
			return other
		},
	}
}
