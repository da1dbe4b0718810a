/** A service with an outbox and idempotency keys creates the tables of both when it starts, and several of its processes start at the same time. */
import { expect, test } from 'vitest'
import { postgresIdempotencyStore, sqliteIdempotencyStore } from '../../../../src/idempotency/index.ts'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { sqliteOutboxStore } from '../../../../src/outbox/store/sqlite/sqlite-store.ts'
import { postgresPool } from '../../../support/postgres-pool.ts'
import { temporaryFile } from '../../../support/temporary-file.ts'

const ROUNDS = 10
const PROCESSES = 3

const postgres = postgresPool()

interface Migrating {
	migrate(): Promise<{ readonly applied: readonly string[] }>
}

/** Returns the number of applied steps of each kind of tables. */
async function migrateAll(stores: readonly (readonly Migrating[])[]): Promise<readonly number[]> {
	const reports = await Promise.all(stores.map((some) => Promise.all(some.map((store) => store.migrate()))))
	return reports.map((some) => some.reduce((sum, { applied }) => sum + applied.length, 0))
}

test('outbox and keys migrate an empty PostgreSQL concurrently (23505 on pg_namespace)', async () => {
	const pools = Array.from({ length: PROCESSES }, () => postgres.anotherPool())
	const outboxes = pools.map((client) => postgresOutboxStore({ client }))
	const keys = pools.map((client) => postgresIdempotencyStore({ client }))
	for (let round = 0; round < ROUNDS; round++) {
		expect(await migrateAll([outboxes, keys])).toEqual([1, 1])
		await postgres.pool.query('drop schema yaoki cascade')
	}
})

test('outbox and keys migrate an empty SQLite file concurrently', async () => {
	for (let round = 0; round < ROUNDS; round++) {
		const file = temporaryFile()
		const outboxes = Array.from({ length: PROCESSES }, () => sqliteOutboxStore({ file }))
		const keys = outboxes.map(() => sqliteIdempotencyStore(file))
		expect(await migrateAll([outboxes, keys])).toEqual([1, 1])
		for (const store of [...outboxes, ...keys]) await store.close()
	}
})
