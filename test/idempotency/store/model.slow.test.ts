import { test } from 'vitest'
import { postgresIdempotencyStore } from '../../../src/idempotency/store/postgres/postgres-store.ts'
import { compareStores } from './model.ts'
import { openMemory } from './open-memory.ts'
import { openSqlite } from './open-sqlite.ts'
import { setupPostgres } from './postgres/setup.ts'

const database = setupPostgres()

const openModel = () => {
	const { advance, ...opened } = openMemory()
	return { ...opened, advance: (ms: number) => advance?.(ms) }
}

test('SQLite returns what the store in memory returns, for many random operations', () =>
	compareStores(openModel, () => openSqlite(':memory:'), 1_000))

test('PostgreSQL returns what the store in memory returns, for random operations', () =>
	compareStores(
		openModel,
		async () => {
			await database.pool.query(`delete from ${database.schema}.idempotency_keys`)
			let offsetMs = 0
			const store = postgresIdempotencyStore({
				client: database.pool,
				schema: database.schema,
				prepare: false,
				clockOffsetMs: () => offsetMs,
			})
			return {
				store,
				advance(ms) {
					offsetMs += ms
				},
				close: () => store.close(),
			}
		},
		150,
	))
