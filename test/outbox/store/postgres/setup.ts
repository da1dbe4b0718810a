/** One real PostgreSQL for a test file, and a migrated store in a schema of its own for each test. */
import { afterEach, beforeEach } from 'vitest'
import type { PostgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { type PostgresPool, postgresPool } from '../../../support/postgres-pool.ts'
import { type OpenedPostgres, openOnPool } from './opened.ts'

export interface PostgresSetup extends Omit<PostgresPool, 'url'> {
	readonly store: PostgresOutboxStore
	readonly schema: string
	readonly opened: OpenedPostgres
	/** Numbers of the server's own statistics about the queue's table; connections write them down when they end. */
	tableStatistics(): Promise<Record<string, number>>
}

export function setup(): PostgresSetup {
	const postgres = postgresPool()
	let opened: OpenedPostgres
	beforeEach(async () => {
		opened = await openOnPool(postgres.pool)
		await opened.store.migrate()
	})
	afterEach(() => opened?.close())
	return {
		get pool() {
			return postgres.pool
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
		anotherPool: postgres.anotherPool,
		async tableStatistics() {
			const { rows } = await postgres.pool.query(
				`select n_tup_upd, n_tup_hot_upd, n_tup_newpage_upd, n_tup_del, seq_scan, coalesce(idx_scan, 0) as idx_scan
				from pg_stat_user_tables where schemaname = $1 and relname = 'outbox'`,
				[opened.schema],
			)
			return Object.fromEntries(Object.entries(rows[0]).map(([name, value]) => [name, Number(value)]))
		},
	}
}
