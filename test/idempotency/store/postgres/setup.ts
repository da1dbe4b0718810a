/** One real PostgreSQL for a test file, and a migrated store in a schema of its own for each test. */
import type pg from 'pg'
import { afterEach, beforeEach } from 'vitest'
import {
	type PostgresIdempotencyStore,
	postgresIdempotencyStore,
} from '../../../../src/idempotency/store/postgres/postgres-store.ts'
import { postgresPool } from '../../../support/postgres-pool.ts'

type PoolStore = PostgresIdempotencyStore<pg.PoolClient>

export interface TestDatabase {
	readonly pool: pg.Pool
	readonly store: PoolStore
	readonly schema: string
	/** The store's clock goes forward. */
	advance(ms: number): void
	/** A store on a pool as another process would have it. The pool is ended after the test. */
	another(settings?: pg.PoolConfig, prepare?: boolean): { readonly pool: pg.Pool; readonly store: PoolStore }
}

let schemas = 0

export function setupPostgres(): TestDatabase {
	const postgres = postgresPool()
	let schema = ''
	let store: PoolStore
	let offsetMs = 0
	const open = (client: pg.Pool, prepare?: boolean): PoolStore =>
		postgresIdempotencyStore({ client, schema, prepare, clockOffsetMs: () => offsetMs })
	beforeEach(async () => {
		schema = `keys_${++schemas}`
		offsetMs = 0
		store = open(postgres.pool)
		await store.migrate()
	})
	afterEach(() => store?.close())
	return {
		get pool() {
			return postgres.pool
		},
		get store() {
			return store
		},
		get schema() {
			return schema
		},
		advance(ms) {
			offsetMs += ms
		},
		another(settings, prepare) {
			const pool = postgres.anotherPool(settings)
			return { pool, store: open(pool, prepare) }
		},
	}
}
