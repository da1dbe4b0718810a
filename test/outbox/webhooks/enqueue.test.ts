import { describe, expect, test } from 'vitest'
import { InvalidMessageError, Outbox, sqliteOutboxStore, Webhooks } from 'yaoki/outbox'
import { z } from 'zod'
import { A, B, setupWebhooks } from './setup.ts'

const EVENT = { topic: 'order.placed', payload: { order: 'o-1', total: 12.5 } }

test('an event is delivered to each endpoint whose topics match, signed with its secret', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system, received } = shop
	const a = await webhooks.endpoints.create({ url: A, topics: ['order.*'] })
	const b = await webhooks.endpoints.create({ url: B, topics: ['order.placed', 'order.shipped'] })
	await webhooks.endpoints.create({ url: 'https://c.example.com', topics: ['invoice.*'] })
	const { eventId, messages } = await webhooks.enqueue(EVENT)
	expect(messages.map(({ endpointId }) => endpointId).sort()).toEqual([a.endpoint.id, b.endpoint.id].sort())
	await shop.start()
	await system.clock.advance(1_000)
	expect(received.map(({ url }) => url).sort()).toEqual([A, B])
	for (const [url, secret] of [
		[A, a.secret],
		[B, b.secret],
	] as const) {
		const one = received.find((request) => request.url === url)
		const verified = await shop.verify(one, secret)
		expect(verified.id).toBe(eventId)
		expect(verified.json()).toEqual(EVENT.payload)
		expect(one?.headers.get('content-type')).toBe('application/json')
	}
	expect(await system.outbox.list()).toEqual([])
})

test('only endpoints of the tenant get its events', async () => {
	await using shop = await setupWebhooks()
	const { webhooks } = shop
	const { endpoint } = await webhooks.endpoints.create({ url: A, topics: ['*'], tenant: 'ada' })
	await webhooks.endpoints.create({ url: B, topics: ['*'], tenant: 'bob' })
	await webhooks.endpoints.create({ url: 'https://c.example.com', topics: ['*'] })
	const { messages } = await webhooks.enqueue({ ...EVENT, tenant: 'ada' })
	expect(messages.map(({ endpointId }) => endpointId)).toEqual([endpoint.id])
})

test('an endpoint that is added later gets nothing of before', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	expect((await webhooks.enqueue(EVENT)).messages).toEqual([])
	await webhooks.endpoints.create({ url: A, topics: ['*'] })
	await webhooks.enqueue({ ...EVENT, payload: 2 })
	await shop.start()
	await system.clock.advance(1_000)
	expect(shop.payloadsAt(A)).toEqual([2])
})

test('enqueueSync writes in the transaction within the call, and a rollback leaves nothing', async () => {
	await using shop = await setupWebhooks({ keepEventsForMs: 60_000 })
	const { webhooks, system } = shop
	const { endpoint } = await webhooks.endpoints.create({ url: A, topics: ['*'] })
	const run = (sql: string) => system.tx.prepare(sql).run?.()
	for (const end of ['ROLLBACK', 'COMMIT']) {
		run('BEGIN IMMEDIATE')
		const { messages } = webhooks.enqueueSync({ ...EVENT, payload: end }, { tx: system.tx })
		expect(messages).toHaveLength(1)
		run(end)
	}
	expect((await system.outbox.list()).map(({ payload }) => payload)).toEqual(['COMMIT'])
	const { written } = await webhooks.endpoints.replay(endpoint.id, { since: new Date(0) })
	expect(written).toBe(1)
})

test('a dedupe key holds for each endpoint, and the first event is kept once', async () => {
	await using shop = await setupWebhooks({ keepEventsForMs: 60_000 })
	const { webhooks } = shop
	const { endpoint } = await webhooks.endpoints.create({ url: A, topics: ['*'] })
	const event = { ...EVENT, dedupeKey: 'order:o-1' }
	await webhooks.enqueue(event)
	const { messages } = await webhooks.enqueue(event)
	expect(messages).toMatchObject([{ isDuplicate: true }])
	expect(await webhooks.endpoints.replay(endpoint.id, { since: new Date(0) })).toEqual({ written: 1 })
})

describe('rejects', () => {
	test.each([
		['no event', null, /expected an object with topic and payload/],
		['a destination', { ...EVENT, destination: 'mail' }, /destination: expected no destination/],
		['a header of the signature', { ...EVENT, headers: { 'Webhook-Id': 'x' } }, /headers\["Webhook-Id"\]/],
		['headers that are a text', { ...EVENT, headers: 'x' }, /headers: expected a plain object/],
		['an empty topic', { ...EVENT, topic: '' }, /topic/],
	])('%s, and nothing is written', async (_, event, text) => {
		await using shop = await setupWebhooks()
		await shop.webhooks.endpoints.create({ url: A, topics: ['*'] })
		const rejected = shop.webhooks.enqueue(event as never)
		await expect(rejected).rejects.toBeInstanceOf(InvalidMessageError)
		await expect(rejected).rejects.toThrow(text)
		expect(await shop.system.outbox.list()).toEqual([])
	})

	test('an empty tenant', async () => {
		await using shop = await setupWebhooks()
		await expect(shop.webhooks.enqueue({ ...EVENT, tenant: '' })).rejects.toThrow(/"tenant"/)
	})

	test('a store without endpoints', async () => {
		const store = sqliteOutboxStore(':memory:')
		const { endpoints: _, ...without } = store
		expect(() => new Webhooks(new Outbox({ store: { ...without } as never }))).toThrow(/has none/)
		await store.close()
	})
})

test('events of an outbox with schemas are typed and validated', async () => {
	await using shop = await setupWebhooks()
	const topics = { 'order.placed': z.object({ order: z.string(), currency: z.string().default('EUR') }) }
	const outbox = new Outbox({ store: shop.system.store, topics, outsideTransaction: 'allow' })
	const webhooks = new Webhooks(outbox)
	await webhooks.endpoints.create({ url: A, topics: ['*'] })
	await webhooks.enqueue({ topic: 'order.placed', payload: { order: 'o-1' }, tenant: undefined })
	// @ts-expect-error: another topic
	await expect(webhooks.enqueue({ topic: 'order.lost', payload: {} })).rejects.toThrow(/topic/)
	// @ts-expect-error: another payload
	await expect(webhooks.enqueue({ topic: 'order.placed', payload: { order: 1 } })).rejects.toThrow(/order/)
	expect((await outbox.list()).map(({ payload }) => payload)).toEqual([{ order: 'o-1', currency: 'EUR' }])
})
