/** One real PostgreSQL for a test file, and a migrated store in a schema of its own for each test. */
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import {
	type PostgresIdempotencyStore,
	postgresIdempotencyStore,
} from '../../../../src/idempotency/store/postgres/postgres-store.ts'
import { type PostgresDatabase, postgresDatabase } from '../../../outbox/postgres-database.ts'

type PoolStore = PostgresIdempotencyStore<pg.PoolClient>

export interface Rig {
	readonly pool: pg.Pool
	readonly store: PoolStore
	readonly schema: string
	/** The store's clock goes forward. */
	advance(ms: number): void
	/** A store on a pool as another process would have it. The pool is ended after the test. */
	another(settings?: pg.PoolConfig, prepare?: boolean): { readonly pool: pg.Pool; readonly store: PoolStore }
}

let schemas = 0

export function postgresRig(): Rig {
	let database: PostgresDatabase
	let pool: pg.Pool
	let schema = ''
	let store: PoolStore
	let offsetMs = 0
	const others: pg.Pool[] = []
	const open = (client: pg.Pool, prepare?: boolean): PoolStore =>
		postgresIdempotencyStore({ client, schema, prepare, clockOffsetMs: () => offsetMs })
	beforeAll(async () => {
		database = await postgresDatabase()
		pool = new pg.Pool({ ...database.connection, max: 6 })
	}, 60_000)
	beforeEach(async () => {
		schema = `keys_${++schemas}`
		offsetMs = 0
		store = open(pool)
		await store.migrate()
	})
	afterEach(async () => {
		for (const other of others.splice(0)) if (!other.ended) await other.end()
		await store?.close()
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
			return store
		},
		get schema() {
			return schema
		},
		advance(ms) {
			offsetMs += ms
		},
		another(settings = {}, prepare) {
			const other = new pg.Pool({ ...database.connection, max: 4, ...settings })
			others.push(other)
			return { pool: other, store: open(other, prepare) }
		},
	}
}
