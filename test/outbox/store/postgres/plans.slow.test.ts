import { expect, test } from 'vitest'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { eventually } from '../../../support/eventually.ts'
import { newRow, newRows } from '../rows.ts'
import { wanted } from './rows.ts'
import { setup } from './setup.ts'

const postgres = setup()

/** A store on a pool of its own: its connections hand in their statistics when the pool ends. */
function countedStore() {
	const pool = postgres.anotherPool()
	return { pool, store: postgresOutboxStore({ client: pool, schema: postgres.schema }) }
}

test('a claim updates no index: all its updates are HOT updates', async () => {
	const { pool, store } = countedStore()
	await store.insert(newRows(2_000, { key: 'k', payload: JSON.stringify('x'.repeat(100)) }))
	for (let round = 0; round < 4; round++) await store.claim(wanted({ limit: 500 }))
	await pool.end()
	await eventually(async () => expect((await postgres.tableStatistics())['n_tup_upd']).toBe(2_000))
	expect((await postgres.tableStatistics())['n_tup_hot_upd']).toBe(2_000)
})

for (const isAnalyzed of [false, true]) {
	const name = `with 100,000 messages waiting nothing that a relay does reads the whole table (${isAnalyzed ? 'with' : 'without'} the planner's figures)`
	test(name, async () => {
		const later = 4_000_000_000_000
		await postgres.pool.query(
			`insert into ${postgres.schema}.outbox (id, destination, topic, key, due_at, created_at, payload)
			select gen_random_uuid(), 'a', 't', 'k' || i % 1000, $1::bigint + i, 0, '{}' from generate_series(1, 100000) i`,
			[later],
		)
		if (isAnalyzed) await postgres.pool.query(`analyze ${postgres.schema}.outbox`)
		const { pool, store } = countedStore()
		const before = await postgres.tableStatistics()
		// More often than a plan is made anew for a prepared statement.
		for (let round = 0; round < 8; round++) {
			await store.insert(newRows(40))
			await store.insert([newRow({ key: `new${round}` }), newRow({ dedupeKey: `d${round}` })])
			const claims = [
				await store.claim(wanted({ limit: 20 })),
				await store.claim(wanted({ limit: 10, isOrdered: true })),
				await store.claim(wanted({ isOrdered: true, keys: [`new${round}`, 'k1'] })),
				await store.claim(wanted({}, { poisonCandidates: true })),
				await store.claim(wanted({ since: 1 })),
			]
			const rows = claims.flatMap((claim) => claim.rows)
			expect(rows).toHaveLength(42)
			await store.renew('relay', 60_000, rows)
			expect(
				await store.settle(
					'relay',
					rows.map(({ id, attempt }, at) =>
						at % 3 === 0
							? { type: 'release', id, attempt, inMs: 1e9 }
							: at % 3 === 1
								? {
										type: 'dead',
										id,
										attempt,
										cause: 'expired',
										error: null,
										afterDeadLetter: 'dead-letter-rest',
									}
								: { type: 'sent', id, attempt },
					),
					false,
				),
			).toEqual([])
			await store.nextDueInMs(['a'])
			for (const isOrdered of [true, false]) await store.hasClaimable('a', isOrdered, 2)
			await store.dueDestinations(100)
			await store.findPredecessor(rows[0]?.id ?? '')
		}
		for (const prepare of [true, false]) {
			const other = postgresOutboxStore({ client: pool, schema: postgres.schema, prepare })
			await other.insert(newRows(1_000))
			const { rows } = await other.claim(wanted())
			expect(rows).toHaveLength(1_000)
			const sent = rows.map(({ id, attempt }) => ({ type: 'sent', id, attempt }) as const)
			expect(await other.settle('relay', sent, true)).toEqual([])
		}
		await pool.end()
		await eventually(async () =>
			expect((await postgres.tableStatistics())['n_tup_del']).toBeGreaterThanOrEqual(2_200),
		)
		const after = await postgres.tableStatistics()
		expect(after['seq_scan']).toBe(before['seq_scan'])
	})
}
