import { describe, expect, test } from 'vitest'
import { InvalidMessageError, Outbox, type OutboxEvent, sqliteOutboxStore } from 'yaoki/outbox'
import { setup } from '../relay/setup.ts'

const EVENT = { topic: 'order.placed', payload: { order: 'o-1' } }

test('writes one message for each destination, with an id and a fate of its own', async () => {
	await using system = await setup()
	const { outbox, clock } = system
	const results = await outbox.fanOut(EVENT, ['billing', 'shipping', 'billing'])
	expect(results.map(({ destination, isDuplicate }) => [destination, isDuplicate])).toEqual([
		['billing', false],
		['shipping', false],
	])
	expect(new Set(results.map(({ id }) => id)).size).toBe(2)
	const failing = system.sends(() => {
		throw new Error('billing is down')
	})
	await system.relay({ billing: failing, shipping: system.sends() })
	await clock.advance(100)
	const records = await outbox.list()
	expect(records.map(({ destination, topic, payload }) => ({ destination, topic, payload }))).toEqual([
		{ destination: 'billing', ...EVENT },
	])
})

test('a dedupe key holds for each destination', async () => {
	await using system = await setup()
	const message = { ...EVENT, dedupeKey: 'order:o-1' }
	const [first] = await system.outbox.fanOut(message, ['billing'])
	const results = await system.outbox.fanOut(message, ['billing', 'shipping'])
	expect(results).toMatchObject([
		{ destination: 'billing', isDuplicate: true, id: first?.id },
		{ destination: 'shipping', isDuplicate: false },
	])
})

test('without destinations nothing is written, and a message is still validated', async () => {
	await using system = await setup()
	expect(await system.outbox.fanOut(EVENT, [])).toEqual([])
	const rejected = system.outbox.fanOut({ topic: '', payload: 1 }, [])
	await expect(rejected).rejects.toBeInstanceOf(InvalidMessageError)
})

test('writes in the transaction within the call, and a rollback leaves nothing', async () => {
	await using system = await setup()
	const { outbox, tx } = system
	const run = (sql: string) => tx.prepare(sql).run?.()
	run('BEGIN IMMEDIATE')
	expect(outbox.fanOutSync(EVENT, ['billing', 'shipping'], { tx })).toHaveLength(2)
	run('ROLLBACK')
	expect(await outbox.list()).toEqual([])
	run('BEGIN IMMEDIATE')
	const writing = outbox.fanOut(EVENT, ['billing', 'shipping'], { tx })
	run('COMMIT')
	await writing
	expect((await outbox.list()).map(({ destination }) => destination)).toEqual(['billing', 'shipping'])
})

test('emits one event with the number of messages, and observers see the same number', async () => {
	await using store = storeInMemory()
	const events: OutboxEvent[] = []
	const outbox = new Outbox({ store, outsideTransaction: 'allow' })
	outbox.subscribe((event) => events.push(event))
	await outbox.migrate()
	await outbox.fanOut(EVENT, ['billing', 'shipping'])
	expect(events).toMatchObject([{ type: 'outbox_enqueued', count: 2, topics: { 'order.placed': 2 } }])
})

describe('rejects', () => {
	test.each([
		[
			'a destination in the message',
			{ ...EVENT, destination: 'mail' },
			['billing'],
			/destination: expected no/,
		],
		['an empty name', EVENT, ['billing', ''], /destination: expected a non-empty string/],
		[
			'a dedupe key that is too long with its destination',
			{ ...EVENT, dedupeKey: 'k'.repeat(1_000) },
			['b'.repeat(200)],
			/dedupeKey/,
		],
	])('%s, and nothing is written', async (_, message, destinations, text) => {
		await using system = await setup()
		await expect(system.outbox.fanOut(message, destinations)).rejects.toThrow(text)
		expect(() => system.outbox.fanOutSync(message, destinations, { tx: system.tx })).toThrow(text)
		expect(await system.outbox.list()).toEqual([])
	})

	test('destinations that are not an array', async () => {
		await using system = await setup()
		const rejected = system.outbox.fanOut(EVENT, 'billing' as never)
		await expect(rejected).rejects.toThrow(/Invalid argument "destinations"/)
	})
})

function storeInMemory() {
	const store = sqliteOutboxStore(':memory:')
	return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() })
}
