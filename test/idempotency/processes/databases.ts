/** The databases of the stores, with their tables. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { postgresIdempotencyStore, sqliteIdempotencyStore } from '../../../src/idempotency/index.ts'
import { postgresDatabase } from '../../support/postgres-database.ts'
import { startRedis } from '../../support/real-redis.ts'
import type { StoreAddress } from './open-store.ts'

export interface Database extends AsyncDisposable {
	readonly address: StoreAddress
}

export const DATABASES: Readonly<Record<StoreAddress['kind'], () => Promise<Database>>> = {
	async PostgreSQL() {
		const database = await postgresDatabase()
		const pool = new pg.Pool(database.connection)
		await postgresIdempotencyStore({ client: pool }).migrate()
		await pool.end()
		return {
			address: { kind: 'PostgreSQL', url: database.url },
			[Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
		}
	},
	async Redis() {
		const redis = await startRedis()
		return {
			address: { kind: 'Redis', port: redis.port },
			[Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
		}
	},
	async SQLite() {
		const folder = await mkdtemp(join(tmpdir(), 'yaoki-sqlite-'))
		const file = join(folder, 'keys.db')
		const store = sqliteIdempotencyStore(file)
		await store.migrate()
		await store.close()
		return {
			address: { kind: 'SQLite', file },
			[Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
		}
	},
}
