/** The order of messages that several transactions enqueue concurrently. */
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { Outbox } from '../../../../src/outbox/outbox.ts'
import { Relay } from '../../../../src/outbox/relay/relay.ts'
import { seededRandom } from '../../../../src/testing/seeded-random.ts'
import { newRow } from '../rows.ts'
import { begin, untilWaiting } from './concurrent.ts'
import { postgresRig } from './rig.ts'

const rig = postgresRig()

test('8 concurrent producers on 5 keys: no message is sent after a later one of its key', async () => {
	const [producers, each, keys] = [8, 60, 5]
	const pool = rig.anotherPool({ max: producers + 4 })
	const outbox = new Outbox({ store: rig.opened.store, outsideTransaction: 'reject' })
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
	await rig.store.insert(rows, client)
}

const committedKeys = async (): Promise<unknown[]> => (await rig.store.list({}, 100)).map(({ key }) => key)

test('a message waits until the transaction that enqueued the previous one of its key has ended', async () => {
	const [one, two] = [await begin(rig.pool), await begin(rig.pool)]
	await enqueue(one, 'k')
	const later = enqueue(two, 'k')
	await untilWaiting(rig.pool, two)
	await one.query('rollback')
	await later
	await two.query('commit')
	expect(await committedKeys()).toEqual(['k'])
})

test('messages of other keys, of other destinations and without a key do not wait', async () => {
	const [one, two] = [await begin(rig.pool), await begin(rig.pool)]
	await enqueue(one, 'k', 'l')
	await rig.store.insert([newRow({ key: 'm' }), newRow(), newRow({ key: 'k', destination: 'b' })], two)
	await rig.store.insert([newRow({ key: 'n' })], two)
	await two.query('commit')
	await one.query('commit')
	expect(await committedKeys()).toHaveLength(6)
})

test('without lockKeys nothing waits', async () => {
	const [one, two] = [await begin(rig.pool), await begin(rig.pool)]
	await rig.store.insert([newRow({ key: 'k' })], one, { lockKeys: false })
	await rig.store.insert([newRow({ key: 'k' }), newRow({ key: 'k' })], two, { lockKeys: false })
	await rig.store.insert([newRow({ key: 'k', dedupeKey: 'd' })], two, { lockKeys: false })
	await two.query('commit')
	await one.query('commit')
	expect(await committedKeys()).toHaveLength(4)
})

test('concurrent batches lock their keys in one order, so they do not deadlock', async () => {
	const keys = Array.from({ length: 30 }, (_, at) => `key ${at}`)
	const pool = rig.anotherPool({ max: 8 })
	const produce = async (_: unknown, n: number): Promise<void> => {
		for (let round = 0; round < 8; round++) {
			const client = await pool.connect()
			await client.query('begin')
			await enqueue(client, ...(n % 2 ? keys : keys.toReversed()))
			await client.query('commit')
			client.release()
		}
	}
	await Promise.all(Array.from({ length: 8 }, produce))
	expect(await rig.store.list({}, 10_000)).toHaveLength(8 * 8 * 30)
})
