/** The order of messages that several transactions enqueue concurrently. */
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { Outbox } from '../../../../src/outbox/outbox.ts'
import { Relay } from '../../../../src/outbox/relay/relay.ts'
import { seededRandom } from '../../../../src/testing/seeded-random.ts'
import { newRow } from '../rows.ts'
import { begin, untilWaiting } from './concurrent.ts'
import { setup } from './setup.ts'

const postgres = setup()

test('8 concurrent producers on 5 keys: no message is sent after a later one of its key', async () => {
	const [producers, each, keys] = [8, 60, 5]
	const pool = postgres.anotherPool({ max: producers + 4 })
	const outbox = new Outbox({ store: postgres.opened.store, outsideTransaction: 'reject' })
	const latest = new Map<string | undefined, number>()
	const inversions: unknown[] = []
	let sent = 0
	const allSent = Promise.withResolvers<void>()
	const relay = new Relay(outbox, {
		destinations: {
			jobs: {
				order: true,
				deliver({ key, sequence }) {
					if (sequence <= (latest.get(key) ?? 0)) inversions.push([key, sequence, latest.get(key)])
					latest.set(key, sequence)
					if (++sent === producers * each) allSent.resolve()
				},
			},
		},
	})
	await relay.start()
	onTestFinished(() => relay.stop())
	const produce = async (seed: number): Promise<void> => {
		const random = seededRandom(seed)
		const client = await pool.connect()
		for (let n = 0; n < each; n++) {
			await client.query('begin')
			await outbox.enqueue(
				{ topic: 'jobs', key: `k${Math.floor(random() * keys)}`, payload: n },
				{ tx: client },
			)
			// Other transactions enqueue and commit meanwhile.
			for (let rest = Math.floor(random() * 4); rest > 0; rest--) await client.query('select 1')
			await client.query('commit')
		}
		client.release()
	}
	await Promise.all(Array.from({ length: producers }, (_, seed) => produce(seed)))
	await allSent.promise
	expect(inversions).toEqual([])
	expect(latest.size).toBe(keys)
})

const enqueue = async (client: pg.PoolClient, ...keys: string[]): Promise<void> => {
	const rows = keys.map((key) => newRow({ key }))
	await postgres.store.insert(rows, client)
}

const committedKeys = async (): Promise<unknown[]> =>
	(await postgres.store.list({}, 100)).map(({ key }) => key)

test('a message waits until the transaction that enqueued the previous one of its key has ended', async () => {
	const [one, two] = [await begin(postgres.pool), await begin(postgres.pool)]
	await enqueue(one, 'k')
	const later = enqueue(two, 'k')
	await untilWaiting(postgres.pool, two)
	await one.query('rollback')
	await later
	await two.query('commit')
	expect(await committedKeys()).toEqual(['k'])
})

test('messages of other keys, of other destinations and without a key do not wait', async () => {
	const [one, two] = [await begin(postgres.pool), await begin(postgres.pool)]
	await enqueue(one, 'k', 'l')
	await postgres.store.insert([newRow({ key: 'm' }), newRow(), newRow({ key: 'k', destination: 'b' })], two)
	await postgres.store.insert([newRow({ key: 'n' })], two)
	await two.query('commit')
	await one.query('commit')
	expect(await committedKeys()).toHaveLength(6)
})

test('transactions with the same key do not wait for each other without lockKeys', async () => {
	const [one, two] = [await begin(postgres.pool), await begin(postgres.pool)]
	await postgres.store.insert([newRow({ key: 'k' })], one, { lockKeys: false })
	await postgres.store.insert([newRow({ key: 'k' }), newRow({ key: 'k' })], two, { lockKeys: false })
	await postgres.store.insert([newRow({ key: 'k', dedupeKey: 'd' })], two, { lockKeys: false })
	await two.query('commit')
	await one.query('commit')
	expect(await committedKeys()).toHaveLength(4)
})

test('concurrent batches lock their keys in one order, so they do not deadlock', async () => {
	const keys = Array.from({ length: 70 }, (_, at) => `key ${at}`)
	const pool = postgres.anotherPool({ max: 8 })
	const produce = async (_: unknown, n: number): Promise<void> => {
		for (let round = 0; round < 8; round++) {
			const client = await pool.connect()
			await client.query('begin')
			const chosen = n < 4 ? keys : keys.slice(n)
			await enqueue(client, ...(n % 2 ? chosen : chosen.toReversed()))
			await client.query('commit')
			client.release()
		}
	}
	await Promise.all(Array.from({ length: 8 }, produce))
	expect(await postgres.store.list({}, 10_000)).toHaveLength(8 * (8 * 70 - 4 - 5 - 6 - 7))
})

const keysFrom = (first: number, count: number): string[] =>
	Array.from({ length: count }, (_, at) => `key ${first + at}`)

const locksHeld = async (): Promise<number> => {
	const { rows } = await postgres.pool.query(
		`select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
	)
	return Number(rows[0].count)
}

test('a batch with many keys needs few locks, so that the lock table of the server does not overflow', async () => {
	const client = await begin(postgres.pool)
	await enqueue(client, ...keysFrom(0, 20_000))
	expect(await locksHeld()).toBeLessThanOrEqual(64)
	await client.query('commit')
	expect(await locksHeld()).toBe(0)
})

test('a message and a batch with many keys wait for each other if they share a key', async () => {
	const batch = keysFrom(0, 100)
	const [one, two] = [await begin(postgres.pool), await begin(postgres.pool)]
	for (const [before, after] of [
		[batch, ['key 7']],
		[['key 7'], batch],
		[batch, keysFrom(99, 2)],
		[batch, keysFrom(99, 100)],
	] as const) {
		await enqueue(one, ...before)
		const later = enqueue(two, ...after)
		await untilWaiting(postgres.pool, two)
		await one.query('rollback; begin')
		await later
		await two.query('rollback; begin')
	}
})

test('single messages of different keys in the same group do not wait for each other', async () => {
	const clients = [await begin(postgres.pool), await begin(postgres.pool), await begin(postgres.pool)]
	for (const [at, client] of clients.entries()) await enqueue(client, ...keysFrom(at * 60, 60))
	for (const client of clients) await client.query('commit')
	expect(await postgres.store.list({}, 1_000)).toHaveLength(180)
})
