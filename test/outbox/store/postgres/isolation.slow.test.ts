/** The user of a database may have any isolation level as the default, because of other programs. */
import type pg from 'pg'
import { describe, expect, test, vi } from 'vitest'
import {
	type PostgresOutboxStore,
	postgresOutboxStore,
} from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { newRows } from '../rows.ts'
import { wanted } from './rows.ts'
import { setup } from './setup.ts'

const postgres = setup()

/** Of the user in the database of this file alone, so that other tests on the same server have theirs. */
async function withDefault<T>(
	level: string,
	work: (store: PostgresOutboxStore, pool: pg.Pool) => Promise<T>,
): Promise<T> {
	const { rows } = await postgres.pool.query('select current_database() as name')
	const role = `alter role current_user in database "${rows[0].name}"`
	await postgres.pool.query(`${role} set default_transaction_isolation = '${level}'`)
	try {
		const pool = postgres.anotherPool({ max: 8 })
		const found = (await pool.query('show default_transaction_isolation')).rows[0]
		expect(found.default_transaction_isolation).toBe(level)
		return await work(postgresOutboxStore({ client: pool, schema: postgres.schema }), pool)
	} finally {
		await postgres.pool.query(`${role} reset default_transaction_isolation`)
	}
}

describe.each(['repeatable read', 'serializable'])('with %s as the default', (level) => {
	test('concurrent claims, renewals and settlements do not fail', async () => {
		await withDefault(level, async (store) => {
			await store.insert(newRows(1_200, { key: null }))
			const sent = new Set<string>()
			const relay = async (owner: string) => {
				for (;;) {
					const { rows } = await store.claim(wanted({ limit: 15 }, { owner }))
					if (rows.length === 0) return
					await store.renew(owner, 60_000, rows)
					const outcomes = rows.map(
						({ id, attempt, claimedAt }) => ({ type: 'sent', id, attempt, claimedAt }) as const,
					)
					expect(await store.settle(owner, outcomes, true)).toEqual([])
					for (const { id } of rows) sent.add(id)
				}
			}
			await Promise.all(Array.from({ length: 8 }, (_, at) => relay(`relay ${at}`)))
			await relay('the last')
			expect(sent.size).toBe(1_200)
		})
	})

	test('concurrent circuit changes, tokens, permits and heartbeats do not fail', async () => {
		await withDefault(level, async (store) => {
			const rate = { limit: 10, intervalMs: 60_000, burst: 10 }
			const granted = await Promise.all(
				Array.from({ length: 16 }, async (_, at) => {
					const owner = `relay ${at}`
					await store.pause('shop', 1_000 + at, 'retry-after')
					await store.acquirePermits({
						destination: 'shop',
						owner,
						wanted: 3,
						inUse: 0,
						total: 9,
						leaseMs: 60_000,
					})
					return (await store.acquireTokens('shop', 1, rate)).granted
				}),
			)
			expect(granted.reduce((sum, count) => sum + count, 0)).toBe(10)
		})
	})

	test('no statement of a relay runs at the default isolation level', async () => {
		await withDefault(level, async (store, pool) => {
			const query = vi.spyOn(pool, 'query')
			await store.insert(newRows(2))
			await store.claim(wanted())
			// The look at the default is the only statement that has no transaction of its own.
			expect(query).toHaveBeenCalledTimes(1)
		})
	})
})

test('with read committed as the default, an insert is one round trip after one lookup', async () => {
	const pool = postgres.anotherPool()
	const query = vi.spyOn(pool, 'query')
	const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
	for (let round = 0; round < 3; round++) await store.insert(newRows(2))
	expect(query).toHaveBeenCalledTimes(4)
})

test.each(['read committed', 'serializable'])(
	'with %s as the default, a claim is one round trip after its preparation and one lookup',
	async (level) => {
		await withDefault(level, async () => {
			const pool = postgres.anotherPool({ max: 1 })
			const client = await pool.connect()
			const query = vi.spyOn(client, 'query')
			client.release()
			const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
			for (let round = 0; round < 3; round++) await store.claim(wanted())
			expect(query).toHaveBeenCalledTimes(5)
		})
	},
)
