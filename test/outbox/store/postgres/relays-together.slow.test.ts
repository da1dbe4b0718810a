import { expect, test } from 'vitest'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { newRow, newRows } from '../rows.ts'
import { wanted } from './rows.ts'
import { setup } from './setup.ts'

const postgres = setup()

test('concurrent relays share no message and together claim all', async () => {
	await postgres.store.insert(newRows(2_000))
	const other = postgresOutboxStore({ client: postgres.anotherPool(), schema: postgres.schema })
	const claims = await Promise.all(
		Array.from({ length: 40 }, (_, at) =>
			(at % 2 ? other : postgres.store).claim(wanted({ limit: 50 }, { owner: `relay ${at}` })),
		),
	)
	const ids = claims.flatMap(({ rows }) => rows.map(({ id }) => id))
	// Those that found rows locked took others, or fewer.
	const rest = await postgres.store.claim(wanted({ limit: 2_000 }))
	const all = [...ids, ...rest.rows.map(({ id }) => id)]
	expect(new Set(all).size).toBe(all.length)
	expect(all).toHaveLength(2_000)
})

test('a claim skips locked rows without waiting', async () => {
	await postgres.store.insert(newRows(3))
	const client = await postgres.pool.connect()
	await client.query('begin')
	const { rows } = await client.query(
		`select id from ${postgres.schema}.outbox order by seq limit 1 for update`,
	)
	const claimed = await postgres.store.claim(wanted())
	expect(claimed.rows).toHaveLength(2)
	expect(claimed.rows.map(({ id }) => id)).not.toContain(rows[0].id)
	await client.query('rollback')
	client.release()
	expect((await postgres.store.claim(wanted())).rows.map(({ id }) => id)).toEqual([rows[0].id])
})

test('a locked first message of a key is not overtaken by the next', async () => {
	const [head, next] = newRows(2, { key: 'k' })
	if (!head || !next) throw new Error('two rows')
	await postgres.store.insert([head, next])
	const client = await postgres.pool.connect()
	await client.query('begin')
	await client.query(`select from ${postgres.schema}.outbox where id = $1 for update`, [head.id])
	expect((await postgres.store.claim(wanted({ isOrdered: true }))).rows).toEqual([])
	expect((await postgres.store.claim(wanted({ isOrdered: true, keys: ['k'] }))).rows).toEqual([])
	await client.query('rollback')
	client.release()
})

test('without lockKeys, a message inserted earlier but committed later waits for the one of its key in flight', async () => {
	const client = await postgres.pool.connect()
	await client.query('begin')
	const early = newRow({ key: 'k' })
	await postgres.store.insert([early], client, { lockKeys: false })
	const late = newRow({ key: 'k' })
	await postgres.store.insert([late], undefined, { lockKeys: false })
	const [inFlight] = (await postgres.store.claim(wanted({ isOrdered: true }))).rows
	expect(inFlight?.id).toBe(late.id)
	await client.query('commit')
	client.release()
	expect((await postgres.store.claim(wanted({ isOrdered: true }))).rows).toEqual([])
	await postgres.store.settle('relay', [{ type: 'sent', id: late.id, attempt: 1 }], false)
	expect((await postgres.store.claim(wanted({ isOrdered: true }))).rows.map(({ id }) => id)).toEqual([
		early.id,
	])
})

test('one of several concurrent inserts with a dedupe key succeeds, and the others get its id', async () => {
	const rows = newRows(20, { dedupeKey: 'once' })
	const answers = await Promise.all(rows.map((row) => postgres.store.insert([row])))
	const winners = rows.filter((row, at) => !answers[at]?.duplicates.has(row.id))
	expect(winners).toHaveLength(1)
	const ids = new Set(answers.flatMap(({ duplicates }) => [...duplicates.values()]))
	expect([...ids]).toEqual([winners[0]?.id])
})

test('concurrent permit requests never exceed the total', async () => {
	const ask = (owner: string) =>
		postgres.store.acquirePermits({
			destination: 'shop',
			owner,
			wanted: 10,
			inUse: 0,
			total: 10,
			leaseMs: 60_000,
		})
	const granted = await Promise.all(Array.from({ length: 12 }, (_, at) => ask(`relay ${at}`)))
	expect(granted.reduce((sum, permits) => sum + permits, 0)).toBeLessThanOrEqual(10)
})
