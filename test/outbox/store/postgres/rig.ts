/** One real PostgreSQL for a test file, and a migrated store in a schema of its own for each test. */
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { PostgresStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { type PostgresDatabase, postgresDatabase } from '../../postgres-database.ts'
import { type OpenedPostgres, openOnPool } from './opened.ts'

export interface Rig {
	readonly pool: pg.Pool
	readonly store: PostgresStore
	readonly schema: string
	readonly opened: OpenedPostgres
	/** A pool as another process would have it. It is ended after the test. */
	anotherPool(settings?: pg.PoolConfig): pg.Pool
	/** Numbers of the server's own statistics about the queue's table; connections write them down when they end. */
	tableStatistics(): Promise<Record<string, number>>
}

export function postgresRig(): Rig {
	let database: PostgresDatabase
	let pool: pg.Pool
	let opened: OpenedPostgres
	const others: pg.Pool[] = []
	beforeAll(async () => {
		database = await postgresDatabase()
		pool = new pg.Pool({ ...database.connection, max: 6 })
	}, 60_000)
	beforeEach(async () => {
		opened = await openOnPool(pool)
		await opened.store.migrate()
	})
	afterEach(async () => {
		for (const other of others.splice(0)) if (!other.ended) await other.end()
		await opened?.close()
	})
	afterAll(async () => {
		await pool?.end()
		await database?.[Symbol.asyncDispose]()
	})
	return {
		get pool() {
			return pool
		},
		get store() {
			return opened.store
		},
		get schema() {
			return opened.schema
		},
		get opened() {
			return opened
		},
		anotherPool(settings = {}) {
			const other = new pg.Pool({ ...database.connection, max: 4, ...settings })
			others.push(other)
			return other
		},
		async tableStatistics() {
			const { rows } = await pool.query(
				`select n_tup_upd, n_tup_hot_upd, n_tup_del, seq_scan, coalesce(idx_scan, 0) as idx_scan
				from pg_stat_user_tables where schemaname = $1 and relname = 'outbox'`,
				[opened.schema],
			)
			return Object.fromEntries(Object.entries(rows[0]).map(([name, value]) => [name, Number(value)]))
		},
	}
}
