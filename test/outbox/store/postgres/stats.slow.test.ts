/** What the statistics read from a large queue: rows, not time, so that the result does not depend on the machine. */
import { expect, test } from 'vitest'
import {
	type PostgresOutboxStore,
	postgresOutboxStore,
} from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { eventually } from '../../../support/eventually.ts'
import { newRows } from '../rows.ts'
import { retry, wanted } from './rows.ts'
import { setup } from './setup.ts'

const postgres = setup()

const ROWS = 200_000
const LIMIT = 1_000

/** Half of the messages failed and wait for a retry, a quarter is due, a quarter is scheduled by the user; every key has a hundred of them. */
const fill = () =>
	postgres.pool.query(
		`insert into ${postgres.schema}.outbox (id, destination, topic, key, attempts, due_at, created_at, first_due_after_ms, error_type, payload)
		select gen_random_uuid(), 'a', 't', 'k' || i % ${ROWS / 100}, case when i % 2 = 0 then 3 else 0 end,
			case when i % 4 = 1 then 1000 + i else 4000000000000 + i end, 1000 + i,
			case when i % 2 = 0 then 0 end, case when i % 2 = 0 then 'Error' end, '{}'
		from generate_series(1, ${ROWS}) i`,
	)

const fillDead = () =>
	postgres.pool.query(
		`insert into ${postgres.schema}.outbox_dead (id, destination, topic, key, due_at, created_at, payload, seq, died_at, cause, blocks)
		select gen_random_uuid(), 'a', 't', 'k' || i % ${ROWS / 100}, 1, 1, '{}', -i, i, 'permanent', true
		from generate_series(1, ${ROWS / 10}) i`,
	)

const rowsRead = async (): Promise<number> => {
	const { rows } = await postgres.pool.query(
		`select sum(seq_tup_read + idx_tup_fetch)::int as n from pg_stat_user_tables where schemaname = $1`,
		[postgres.schema],
	)
	return rows[0].n
}

for (const isAnalyzed of [false, true])
	test(`statistics of ${ROWS} messages read a bounded number of rows (${isAnalyzed ? 'with' : 'without'} statistics of the planner)`, async () => {
		await fill()
		await fillDead()
		if (isAnalyzed)
			await postgres.pool.query(`analyze ${postgres.schema}.outbox, ${postgres.schema}.outbox_dead`)
		const pool = postgres.anotherPool()
		const store = postgresOutboxStore({ client: pool, schema: postgres.schema })
		const before = await rowsRead()
		const { destinations } = await store.stats(LIMIT)
		await store.stats(LIMIT, 'a')
		expect(destinations[0]).toMatchObject({
			failing: { count: LIMIT, isCapped: true },
			maxAttempts: 3,
			blockedByDead: { keys: { count: 100, isCapped: true } },
		})
		await pool.end()
		let after = before
		// A connection reports what it read when it ends.
		await eventually(async () => {
			after = await rowsRead()
			expect(after).toBeGreaterThan(before)
		})
		expect(after - before).toBeLessThan(2 * 40 * LIMIT)
	})

test('a claim of messages that failed before updates no index', async () => {
	/** Runs it on connections of its own, because they hand in their statistics when they end, and returns how often rows were updated. */
	const updatesOf = async (run: (store: PostgresOutboxStore) => Promise<unknown>, total: number) => {
		const pool = postgres.anotherPool()
		await run(postgresOutboxStore({ client: pool, schema: postgres.schema }))
		await pool.end()
		await eventually(async () => expect((await postgres.tableStatistics())['n_tup_upd']).toBe(total))
		// A page has no room if a snapshot of another test keeps the old rows. Then a row moves to another page, whatever was updated.
		const { n_tup_hot_upd: hot = 0, n_tup_newpage_upd: moved = 0 } = await postgres.tableStatistics()
		return { hot, hotOrMoved: hot + moved }
	}
	const before = await updatesOf(async (store) => {
		await store.insert(newRows(500))
		const { rows } = await store.claim(wanted())
		const settlements = rows.map((row) => ({ ...retry(row, 'no'), inMs: 0 }))
		await store.settle('relay', settlements, false)
	}, 1_000)
	const after = await updatesOf((store) => store.claim(wanted()), 1_500)
	expect(after.hotOrMoved - before.hotOrMoved).toBe(500)
	expect(after.hot).toBeGreaterThan(before.hot)
})

test('the statements of statistics are not compiled (regression: 85 % of their time)', async () => {
	const pool = postgres.anotherPool()
	const texts: string[] = []
	pool.on('connect', (client) => {
		const query = client.query.bind(client) as (...args: unknown[]) => unknown
		Object.assign(client, {
			query: (first: string | { readonly text: string }, ...rest: unknown[]) => {
				texts.push(typeof first === 'string' ? first : first.text)
				return query(first, ...rest)
			},
		})
	})
	await postgresOutboxStore({ client: pool, schema: postgres.schema }).stats(LIMIT)
	await pool.end()
	const reads = texts.filter((text) => text.includes(`"${postgres.schema}".outbox`))
	const from = texts.indexOf('set local jit = off')
	expect(reads.length).toBeGreaterThan(3)
	expect(from).toBeGreaterThanOrEqual(0)
	for (const text of reads) expect(texts.indexOf(text)).toBeGreaterThan(from)
	expect(texts.at(-1)).toBe('commit')
})
