/** The suite that defines a store, run for a pool of `pg` and for PGlite, each with and without prepared statements. */
import { PGlite, type Transaction } from '@electric-sql/pglite'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expectTypeOf, test } from 'vitest'
import { postgresIdempotencyStore } from '../../../../src/idempotency/store/postgres/postgres-store.ts'
import {
	type IdempotencyStoreUnderTest,
	idempotencyStoreConformance,
} from '../../../../src/idempotency/testing/index.ts'
import type { PGliteLike, PgPool } from '../../../../src/sql/clients.ts'
import { postgresPool } from '../../../support/postgres-pool.ts'

let schemas = 0

/** A store in a schema of its own, in a database that all cases share. */
async function open(client: PgPool | PGliteLike, prepare?: boolean): Promise<IdempotencyStoreUnderTest> {
	const schema = `conformance_${++schemas}`
	let offsetMs = 0
	const create = () => postgresIdempotencyStore({ client, schema, prepare, clockOffsetMs: () => offsetMs })
	const store = create()
	await store.migrate()
	await client.query(`create table ${schema}.orders (item text)`)
	return {
		store,
		advance(ms) {
			offsetMs += ms
		},
		another: async () => create(),
		userTable: {
			insert: async (tx) => (tx as pg.PoolClient).query(`insert into ${schema}.orders values ('a')`),
			async count() {
				const { rows } = await client.query(`select count(*)::int as n from ${schema}.orders`)
				return (rows[0] as { readonly n: number }).n
			},
		},
		close: () => store.close(),
	}
}

describe.each([
	['prepared statements', true],
	['prepare: false', false],
])('a pool of pg, %s', (_, prepare) => {
	const postgres = postgresPool()
	for (const { name, run } of idempotencyStoreConformance(() => open(postgres.pool, prepare))) test(name, run)
})

describe('PGlite', () => {
	let db: PGlite
	beforeAll(async () => {
		db = await PGlite.create()
	})
	afterAll(() => db?.close())
	for (const { name, run } of idempotencyStoreConformance(() => open(db))) test(name, run)

	test('a transaction gets the transaction of PGlite', async () => {
		const store = postgresIdempotencyStore({ client: db })
		await store.transaction(async (tx) => {
			expectTypeOf(tx).toEqualTypeOf<Transaction>()
			await tx.query('select 1')
		})
	})
})
