/** Dedupe keys of concurrent transactions, at every isolation level. */
import { describe, expect, test } from 'vitest'
import { newRow } from '../rows.ts'
import { begin, untilWaiting } from './concurrent.ts'
import { wanted } from './rows.ts'
import { setup } from './setup.ts'

const postgres = setup()

const sendAll = async (): Promise<void> => {
	const { rows } = await postgres.store.claim(wanted())
	const outcomes = rows.map(
		({ id, attempt, claimedAt }) => ({ type: 'sent', id, attempt, claimedAt }) as const,
	)
	await postgres.store.settle('relay', outcomes, false)
}

const messages = async (): Promise<unknown[]> =>
	(await postgres.store.list({}, 100)).map(({ id, dedupeKey }) => [id, dedupeKey])

describe.each(['repeatable read', 'serializable'])('%s', (level) => {
	test('a key that was enqueued and sent after the snapshot is serialization failure 40001, and a duplicate when the transaction is repeated', async () => {
		const client = await begin(postgres.pool, level)
		const first = newRow({ dedupeKey: 'once' })
		await postgres.store.insert([first])
		await sendAll()
		const late = newRow({ dedupeKey: 'once' })
		await expect(postgres.store.insert([late], client)).rejects.toMatchObject({ code: '40001' })
		await client.query('rollback')
		await client.query(`begin isolation level ${level}`)
		const { duplicates } = await postgres.store.insert([late], client)
		await client.query('commit')
		expect([...duplicates]).toEqual([[late.id, first.id]])
		expect(await messages()).toEqual([])
	})

	test('a key that expired, was deleted and used again after the snapshot is serialization failure 40001', async () => {
		await postgres.store.insert([newRow({ dedupeKey: 'once' })])
		await sendAll()
		await postgres.opened.advance(48 * 3_600_000)
		const client = await begin(postgres.pool, level)
		await postgres.store.dropDedupeKeys(10)
		const second = newRow({ dedupeKey: 'once' })
		await postgres.store.insert([second])
		await expect(postgres.store.insert([newRow({ dedupeKey: 'once' })], client)).rejects.toMatchObject({
			code: '40001',
		})
		expect(await messages()).toEqual([[second.id, 'once']])
	})
})

/** Returns two messages with one dedupe key, and two transactions. */
const twoWithOneKey = async () => {
	const [one, two] = [await begin(postgres.pool), await begin(postgres.pool)]
	const [first, second] = [newRow({ dedupeKey: 'once' }), newRow({ dedupeKey: 'once' })]
	return { one, two, first, second }
}

test('a message waits for an uncommitted one with its key, and is its duplicate after the commit', async () => {
	const { one, two, first, second } = await twoWithOneKey()
	await postgres.store.insert([first], one)
	const later = postgres.store.insert([second], two)
	await untilWaiting(postgres.pool, two)
	await one.query('commit')
	expect([...(await later).duplicates]).toEqual([[second.id, first.id]])
	await two.query('commit')
})

test('a message waits for an uncommitted one with its key, and is enqueued after the rollback', async () => {
	const { one, two, first, second } = await twoWithOneKey()
	await postgres.store.insert([first], one)
	const later = postgres.store.insert([second], two)
	await untilWaiting(postgres.pool, two)
	await one.query('rollback')
	expect((await later).duplicates.size).toBe(0)
	await two.query('commit')
	expect(await messages()).toEqual([[second.id, 'once']])
})

test('a key that expired before its transaction was committed is not used again by one that waited for it', async () => {
	const { one, two, first, second } = await twoWithOneKey()
	await postgres.store.insert([first], one, { dedupeForMs: 1_000 })
	await postgres.opened.advance(60_000)
	const later = postgres.store.insert([second], two)
	await untilWaiting(postgres.pool, two)
	await one.query('commit')
	expect([...(await later).duplicates]).toEqual([[second.id, first.id]])
	await two.query('commit')
})

test('concurrent batches with the same keys in any order do not deadlock', async () => {
	const keys = Array.from({ length: 20 }, (_, at) => `key ${at}`)
	const batches = Array.from({ length: 6 }, (_, n) => {
		const rows = keys.map((key) => newRow({ key, dedupeKey: key }))
		return n % 2 ? rows : rows.reverse()
	})
	const results = await Promise.all(batches.map((rows) => postgres.store.insert(rows)))
	const duplicates = results.map((result) => result.duplicates.size)
	expect(duplicates.reduce((sum, count) => sum + count, 0)).toBe(5 * 20)
	expect(await messages()).toHaveLength(20)
})

test('deletes no key that a transaction is using again, and does not wait for it', async () => {
	await postgres.store.insert([newRow({ dedupeKey: 'once' }), newRow({ dedupeKey: 'other' })])
	await sendAll()
	await postgres.opened.advance(48 * 3_600_000)
	const client = await begin(postgres.pool)
	const second = newRow({ dedupeKey: 'once' })
	await postgres.store.insert([second], client)
	expect(await postgres.store.dropDedupeKeys(10)).toBe(2)
	await client.query('commit')
	const { rows } = await postgres.pool.query(`select dedupe_key, id from ${postgres.schema}.outbox_dedupe`)
	expect(rows).toEqual([{ dedupe_key: 'once', id: second.id }])
})
