/** What prolongs an outage: no message may wait for hours after its endpoint has shown that it is back. */
import { expect, test } from 'vitest'
import { A, setupWebhooks, type WebhookSystem } from './setup.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** The third attempt of a message fails in it; the fourth is half an hour later. */
const DOWN = 7 * MINUTE

const EVENT = { topic: 'order.placed', payload: 1 }

const create = async ({ webhooks }: WebhookSystem) =>
	(await webhooks.endpoints.create({ url: A, topics: ['*'] })).endpoint

const failed = () => new Response(null, { status: 500 })

const eventsOf = ({ events }: WebhookSystem) => events.map(({ type }) => type)

// Regression: the endpoint was back after seven minutes, and its messages waited for up to half an hour more.
test('a success after an outage releases the messages that failed in it', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	await create(shop)
	shop.respond(A, ({ at }) => (at < DOWN ? failed() : new Response(null)))
	await webhooks.enqueue({ ...EVENT, payload: 'failed' })
	await webhooks.enqueue({
		...EVENT,
		payload: 'scheduled',
		notBefore: new Date(system.clock.wallNow() + 9 * HOUR),
	})
	await shop.start()
	await system.clock.advance(DOWN + MINUTE)
	expect(system.eventsOf('relay_state_change')).toEqual([])
	expect(shop.payloadsAt(A)).toEqual(Array(3).fill('failed'))

	await webhooks.enqueue({ ...EVENT, payload: 'after the outage' })
	await system.clock.advance(5 * SECOND)
	expect(shop.payloadsAt(A).slice(3)).toEqual(['after the outage', 'failed'])
	expect((await system.outbox.list()).map(({ payload }) => payload)).toEqual(['scheduled'])
})

test('a test message after an outage releases the messages of an endpoint without new events', async () => {
	await using shop = await setupWebhooks()
	const { id } = await create(shop)
	shop.respond(A, ({ at }) => (at < DOWN ? failed() : new Response(null)))
	for (const payload of [1, 2, 3]) await shop.webhooks.enqueue({ ...EVENT, payload })
	await shop.start()
	await shop.system.clock.advance(DOWN + MINUTE)
	expect(await shop.system.outbox.list()).toHaveLength(3)
	await shop.webhooks.endpoints.test(id)
	await shop.system.clock.advance(MINUTE)
	expect(await shop.system.outbox.list()).toEqual([])
})

test('a message that fails by itself keeps its delays while others succeed', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	await create(shop)
	shop.respond(A, ({ body }) => (body === '"bad"' ? failed() : new Response(null)))
	await webhooks.enqueue({ ...EVENT, payload: 'bad' })
	const growth = [5 * SECOND, MINUTE, 5 * MINUTE, HOUR]
	await shop.start({ retry: { growth, jitterStrategy: 'none', maxRetries: 5 } })
	for (let payload = 0; payload < 48; payload++) {
		await webhooks.enqueue({ ...EVENT, payload })
		await system.clock.advance(10 * SECOND)
	}
	// As many as without other messages, of which two came early.
	expect(shop.payloadsAt(A).filter((payload) => payload === 'bad')).toHaveLength(4)
	expect(await system.outbox.dead.list()).toEqual([])
})

test('concurrent successes after a failure are one recovery', async () => {
	await using shop = await setupWebhooks()
	await create(shop)
	shop.respond(A, async ({ at }) => {
		if (at < 2 * SECOND) return failed()
		await shop.system.pause(10 * SECOND)
		return new Response(null)
	})
	for (const payload of [1, 2, 3, 4]) await shop.webhooks.enqueue({ ...EVENT, payload })
	await shop.start()
	await shop.system.clock.advance(MINUTE)
	expect(await shop.system.outbox.list()).toEqual([])
	expect(shop.events).toMatchObject([
		{ type: 'webhook_endpoint_failing' },
		{ type: 'webhook_endpoint_recovered', failures: 4 },
	])
})

test('a success after another process has recorded the recovery is none', async () => {
	await using shop = await setupWebhooks()
	const { system } = shop
	const { id } = await create(shop)
	shop.respond(A, async ({ at }) => {
		if (at < 2 * SECOND) return failed()
		await system.store.endpoints?.recordSuccess(id)
		return new Response(null)
	})
	await shop.webhooks.enqueue(EVENT)
	await shop.start()
	await system.clock.advance(MINUTE)
	expect(await system.outbox.list()).toEqual([])
	expect(eventsOf(shop)).toEqual(['webhook_endpoint_failing'])
})

test('enabling an endpoint sends the messages that wait for a retry', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	const { id } = await create(shop)
	shop.respond(A, ({ at }) => (at < DOWN ? failed() : new Response(null)))
	await webhooks.enqueue(EVENT)
	await shop.start()
	await system.clock.advance(DOWN)
	await webhooks.endpoints.disable(id)
	await system.clock.advance(MINUTE)
	expect(await system.outbox.list()).toMatchObject([{ status: 'pending', attempts: 3 }])
	await webhooks.endpoints.enable(id)
	await system.clock.advance(MINUTE)
	expect(await system.outbox.list()).toEqual([])
})

test('delays of your own are those that an outage explains', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	await create(shop)
	shop.respond(A, ({ at, body }) => (at < 90 * SECOND || body === '"bad"' ? failed() : new Response(null)))
	for (const payload of ['bad', 'good']) await webhooks.enqueue({ ...EVENT, payload })
	await shop.start({ retry: { growth: [MINUTE, 12 * MINUTE], maxRetries: 5, jitterStrategy: 'none' } })
	await system.clock.advance(100 * SECOND)
	await webhooks.enqueue({ ...EVENT, payload: 'after the outage' })
	await system.clock.advance(20 * SECOND)
	expect(await system.outbox.list()).toMatchObject([{ payload: 'bad', attempts: 3 }])
	// Its next early retry needs an outage of six and a half minutes.
	await webhooks.enqueue({ ...EVENT, payload: 'later' })
	await system.clock.advance(20 * SECOND)
	expect(await system.outbox.list()).toMatchObject([{ payload: 'bad', attempts: 3 }])
})

test('an attempt that hangs until after the recovery is repeated soon', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	await create(shop)
	const hangs = ({ signal }: { readonly signal: AbortSignal | undefined }) =>
		new Promise<Response>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
	let isBack = false
	shop.respond(A, (one) => (isBack ? new Response(null) : hangs(one)))
	await webhooks.enqueue({ ...EVENT, payload: 'hangs' })
	await shop.start()
	// Its third attempt is in flight.
	while (shop.received.length < 3) await system.clock.advance(5 * SECOND)
	isBack = true
	await webhooks.enqueue({ ...EVENT, payload: 'after the outage' })
	await system.clock.advance(2 * MINUTE)
	expect(shop.payloadsAt(A).slice(2)).toEqual(['hangs', 'after the outage', 'hangs'])
	expect(await system.outbox.list()).toEqual([])
})
