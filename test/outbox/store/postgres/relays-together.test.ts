import { expect, test } from 'vitest'
import { postgresStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { newRow, newRows } from '../rows.ts'
import { postgresRig } from './rig.ts'
import { wanted } from './rows.ts'

const rig = postgresRig()

test('relays that claim at the same time never get the same message, and together get all', async () => {
	await rig.store.insert(newRows(2_000))
	const other = postgresStore({ client: rig.anotherPool(), schema: rig.schema })
	const claims = await Promise.all(
		Array.from({ length: 40 }, (_, at) =>
			(at % 2 ? other : rig.store).claim(wanted({ limit: 50 }, { owner: `relay ${at}` })),
		),
	)
	const ids = claims.flatMap(({ rows }) => rows.map(({ id }) => id))
	// Those that found rows locked took others, or fewer.
	const rest = await rig.store.claim(wanted({ limit: 2_000 }))
	const all = [...ids, ...rest.rows.map(({ id }) => id)]
	expect(new Set(all).size).toBe(all.length)
	expect(all).toHaveLength(2_000)
})

test('a claim steps over what somebody else has locked, and does not wait for it', async () => {
	await rig.store.insert(newRows(3))
	const client = await rig.pool.connect()
	await client.query('begin')
	const { rows } = await client.query(`select id from ${rig.schema}.outbox order by seq limit 1 for update`)
	const claimed = await rig.store.claim(wanted())
	expect(claimed.rows).toHaveLength(2)
	expect(claimed.rows.map(({ id }) => id)).not.toContain(rows[0].id)
	await client.query('rollback')
	client.release()
	expect((await rig.store.claim(wanted())).rows.map(({ id }) => id)).toEqual([rows[0].id])
})

test('a locked head does not let the next of its key overtake it', async () => {
	const [head, next] = newRows(2, { key: 'k' })
	if (!head || !next) throw new Error('two rows')
	await rig.store.insert([head, next])
	const client = await rig.pool.connect()
	await client.query('begin')
	await client.query(`select from ${rig.schema}.outbox where id = $1 for update`, [head.id])
	expect((await rig.store.claim(wanted({ isOrdered: true }))).rows).toEqual([])
	expect((await rig.store.claim(wanted({ isOrdered: true, keys: ['k'] }))).rows).toEqual([])
	await client.query('rollback')
	client.release()
})

test('a message that was written earlier but committed later waits for the one of its key that is in flight', async () => {
	const client = await rig.pool.connect()
	await client.query('begin')
	const early = newRow({ key: 'k' })
	await rig.store.insert([early], client)
	const late = newRow({ key: 'k' })
	await rig.store.insert([late])
	const [inFlight] = (await rig.store.claim(wanted({ isOrdered: true }))).rows
	expect(inFlight?.id).toBe(late.id)
	await client.query('commit')
	client.release()
	expect((await rig.store.claim(wanted({ isOrdered: true }))).rows).toEqual([])
	await rig.store.settle('relay', [{ type: 'sent', id: late.id, attempt: 1 }], false)
	expect((await rig.store.claim(wanted({ isOrdered: true }))).rows.map(({ id }) => id)).toEqual([early.id])
})

test('of enqueuers with one dedupe key that commit at the same time one gets in, and the others are told its id', async () => {
	const rows = newRows(20, { dedupeKey: 'once' })
	const answers = await Promise.all(rows.map((row) => rig.store.insert([row])))
	const winners = rows.filter((row, at) => !answers[at]?.duplicates.has(row.id))
	expect(winners).toHaveLength(1)
	const told = new Set(answers.flatMap(({ duplicates }) => [...duplicates.values()]))
	expect([...told]).toEqual([winners[0]?.id])
})

test('places are never given twice, however many relays ask at the same time', async () => {
	const ask = (owner: string) =>
		rig.store.acquirePermits({ destination: 'shop', owner, wanted: 10, inUse: 0, total: 10, leaseMs: 60_000 })
	const given = await Promise.all(Array.from({ length: 12 }, (_, at) => ask(`relay ${at}`)))
	expect(given.reduce((sum, places) => sum + places, 0)).toBeLessThanOrEqual(10)
})
