import { expect, test } from 'vitest'
import type { RelayEvent } from 'yaoki/outbox'
import { A, B, setupWebhooks, type WebhookSystem } from './setup.ts'

const EVENT = { topic: 'order.placed', payload: 1 }
const MINUTE = 60_000

const create = async ({ webhooks }: WebhookSystem, url: string) =>
	(await webhooks.endpoints.create({ url, topics: ['*'] })).endpoint

test.each([301, 307, 400, 401, 404, 422, 500, 501])(
	'a %i is retried, and its redirect is not followed',
	async (status) => {
		await using shop = await setupWebhooks()
		await create(shop, A)
		shop.respond(A, ({ at }) =>
			at < 4_000 ? new Response(null, { status, headers: { location: B } }) : new Response(null),
		)
		await shop.webhooks.enqueue(EVENT)
		await shop.start()
		await shop.system.clock.advance(20_000)
		expect(shop.received.map(({ url }) => url)).toEqual([A, A])
		expect(await shop.system.outbox.list()).toEqual([])
	},
)

test('a short Retry-After does not use up the attempts of three days within seconds', async () => {
	await using shop = await setupWebhooks()
	await create(shop, A)
	shop.respond(A, () => new Response(null, { status: 429, headers: { 'retry-after': '1' } }))
	await shop.webhooks.enqueue(EVENT)
	await shop.start()
	await shop.system.clock.advance(MINUTE)
	expect(shop.received).toHaveLength(2)
	expect(await shop.system.outbox.dead.list()).toEqual([])
})

test('a long Retry-After pauses the endpoint for at least that time', async () => {
	await using shop = await setupWebhooks()
	await create(shop, A)
	shop.respond(A, () => new Response(null, { status: 503, headers: { 'retry-after': '600' } }))
	await shop.webhooks.enqueue(EVENT)
	await shop.start()
	await shop.system.clock.advance(9 * MINUTE)
	expect(shop.received).toHaveLength(1)
	await shop.system.clock.advance(5 * MINUTE)
	expect(shop.received).toHaveLength(2)
})

test('the id and the body are the same for each attempt, the time is that of the attempt', async () => {
	await using shop = await setupWebhooks()
	const { secret } = await shop.webhooks.endpoints.create({ url: A, topics: ['*'] })
	shop.respond(A, () => new Response(null, { status: shop.received.length < 3 ? 500 : 200 }))
	const { eventId } = await shop.webhooks.enqueue(EVENT)
	await shop.start()
	await shop.system.clock.advance(10 * MINUTE)
	const [first, second, third] = shop.received
	expect(shop.received).toHaveLength(3)
	expect(new Set(shop.received.map(({ headers }) => headers.get('webhook-id')))).toEqual(new Set([eventId]))
	expect(Number(third?.headers.get('webhook-timestamp'))).toBeGreaterThan(
		Number(first?.headers.get('webhook-timestamp')) + 250,
	)
	await expect(shop.verify(first, secret)).rejects.toMatchObject({ reason: 'too-old' })
	expect(second?.body).toBe(first?.body)
})

test('410 disables the endpoint, and its messages stay queued without using attempts', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system, events } = shop
	const { id } = await create(shop, A)
	shop.respond(A, () => new Response('gone', { status: 410 }))
	for (let payload = 0; payload < 10; payload++) await webhooks.enqueue({ ...EVENT, payload })
	await shop.start({ maxConcurrent: 1 })
	await system.clock.advance(5 * MINUTE)
	expect(shop.received).toHaveLength(1)
	expect(events).toMatchObject([{ type: 'webhook_endpoint_disabled', reason: 'gone', endpointId: id }])
	expect(await webhooks.endpoints.find(id)).toMatchObject({ isEnabled: false, disabledReason: 'gone' })
	const queued = await system.outbox.list()
	expect(queued.map(({ attempts }) => attempts)).toEqual(Array(10).fill(0))
	expect((await webhooks.enqueue(EVENT)).messages).toEqual([])
	expect(await system.outbox.why(queued[0]?.id ?? '')).toContain('because it is disabled')

	shop.respond(A, () => new Response(null))
	await webhooks.endpoints.enable(id)
	await system.clock.advance(60_000)
	expect(await system.outbox.list()).toEqual([])
	expect(shop.received).toHaveLength(11)
})

test('probes of a disabled endpoint leave no records: the log keeps the request that returned 410', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	await create(shop, A)
	shop.respond(A, () => new Response('the body of A', { status: 410 }))
	const { messages } = await webhooks.enqueue(EVENT)
	const relay = await shop.start()
	const opened: RelayEvent[] = []
	relay.subscribe((event) => {
		if (event.type === 'relay_state_change' && event.to === 'open') opened.push(event)
	})
	await system.clock.advance(60 * MINUTE)
	const attempts = await system.outbox.attempts(messages[0]?.id ?? '')
	expect(attempts).toMatchObject([{ outcome: 'paused', statusCode: 410, response: 'the body of A' }])
	// Events and errors are logged, so they have the status and not the body.
	expect(attempts[0]?.errorMessage).toMatch(/stay queued: HTTP 410$/)
	expect(opened.length).toBeGreaterThan(2)
	expect(opened[0]).toMatchObject({ errorMessage: attempts[0]?.errorMessage })
	expect(JSON.stringify(opened)).not.toContain('the body of A')
})

/** Quick, so that ten attempts take minutes. */
const RETRY = { growth: 'constant', baseDelayMs: 20_000, maxRetries: 1_000 } as const

test('an endpoint that fails for disableAfterMs is disabled once, with an event', async () => {
	await using shop = await setupWebhooks({ disableAfterMs: 20 * MINUTE })
	const { webhooks, system, events } = shop
	const { id } = await create(shop, A)
	shop.respond(A, () => new Response(null, { status: 500 }))
	for (let payload = 0; payload < 5; payload++) await webhooks.enqueue({ ...EVENT, payload })
	await shop.start({ retry: RETRY })
	await system.clock.advance(40 * MINUTE)
	expect(events.map(({ type }) => type)).toEqual(['webhook_endpoint_failing', 'webhook_endpoint_disabled'])
	const [failing, disabled] = events
	expect(disabled).toMatchObject({ reason: 'failing', endpointId: id })
	const failedForMs = (disabled?.timestamp ?? 0) - (failing?.timestamp ?? 0)
	expect(failedForMs).toBeGreaterThanOrEqual(20 * MINUTE)
	// The next probe after that time: a circuit opens for 5 minutes at most.
	expect(failedForMs).toBeLessThan(26 * MINUTE)
	expect(await webhooks.endpoints.find(id)).toMatchObject({ isEnabled: false, disabledReason: 'failing' })
	const audit = await system.outbox.audit({ action: 'disable-endpoint' })
	expect(audit).toMatchObject([{ by: 'webhooks', reason: expect.stringContaining('attempts failed') }])
	expect(await system.outbox.list()).toHaveLength(5)
})

test('events do not contain the response of a failing endpoint, which may repeat the payload', async () => {
	await using shop = await setupWebhooks()
	await create(shop, A)
	shop.respond(A, ({ body }) => new Response(`cannot use ${body}`, { status: 500 }))
	await shop.webhooks.enqueue({ ...EVENT, payload: 'of a customer' })
	await shop.start()
	await shop.system.clock.advance(1_000)
	expect(shop.events).toMatchObject([{ type: 'webhook_endpoint_failing', errorMessage: 'HTTP 500' }])
	expect(JSON.stringify(shop.events)).not.toContain('of a customer')
})

test('a success in between starts the time again', async () => {
	await using shop = await setupWebhooks({ disableAfterMs: 20 * MINUTE })
	const { webhooks, system, events } = shop
	const { id } = await create(shop, A)
	shop.respond(A, ({ at }) => new Response(null, { status: at > 8 * MINUTE && at < 14 * MINUTE ? 200 : 500 }))
	await shop.start({ retry: RETRY })
	for (let minutes = 0; minutes < 30; minutes += 3) {
		await webhooks.enqueue({ ...EVENT, payload: minutes })
		await system.clock.advance(3 * MINUTE)
	}
	expect(events.map(({ type }) => type)).toEqual([
		'webhook_endpoint_failing',
		'webhook_endpoint_recovered',
		'webhook_endpoint_failing',
	])
	expect(await webhooks.endpoints.find(id)).toMatchObject({ isEnabled: true })
})

test('few failures in a long time do not disable an endpoint', async () => {
	await using shop = await setupWebhooks({ disableAfterMs: MINUTE })
	await create(shop, A)
	shop.respond(A, () => new Response(null, { status: 500 }))
	await shop.start({ retry: { ...RETRY, maxRetries: 3 } })
	for (const payload of [1, 2]) await shop.webhooks.enqueue({ ...EVENT, payload })
	await shop.system.clock.advance(20 * MINUTE)
	expect(await shop.system.outbox.dead.list()).toHaveLength(2)
	expect(shop.events.map(({ type }) => type)).toEqual(['webhook_endpoint_failing'])
})

test('a hanging endpoint delays no other one', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	await create(shop, A)
	await create(shop, B)
	shop.respond(A, () => new Promise(() => {}))
	for (let payload = 0; payload < 100; payload++) await webhooks.enqueue({ ...EVENT, payload })
	await shop.start()
	await system.clock.advance(5_000)
	expect(shop.payloadsAt(B)).toHaveLength(100)
	expect(shop.payloadsAt(A).length).toBeLessThanOrEqual(8)
})

test('a success that comes after the timeout is a failure, and the message is sent again', async () => {
	await using shop = await setupWebhooks()
	await create(shop, A)
	shop.respond(A, async ({ at }) => {
		if (at < 1_000) await shop.system.pause(60_000)
		return new Response(null)
	})
	await shop.webhooks.enqueue(EVENT)
	await shop.start({ timeoutMs: 10_000 })
	await shop.system.clock.advance(120_000)
	expect(shop.received).toHaveLength(2)
	expect(await shop.system.outbox.list()).toEqual([])
})

test('messages of a deleted endpoint become dead letters, also many of them', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	const { id } = await create(shop, A)
	for (let payload = 0; payload < 20; payload++) await webhooks.enqueue({ ...EVENT, payload })
	expect(await webhooks.endpoints.delete(id, { reason: 'customer left' })).toBe(true)
	expect(await webhooks.endpoints.delete(id)).toBe(false)
	await shop.start()
	await system.clock.advance(60_000)
	const dead = await system.outbox.dead.list()
	expect(dead).toHaveLength(20)
	expect(dead[0]).toMatchObject({ cause: 'permanent', lastError: { type: 'WebhookEndpointError' } })
})

test('the attempt log has status and response of each attempt', async () => {
	await using shop = await setupWebhooks()
	await create(shop, A)
	shop.respond(A, () =>
		shop.received.length === 1 ? new Response('no stock', { status: 503 }) : new Response('thanks'),
	)
	const { messages } = await shop.webhooks.enqueue(EVENT)
	await shop.start()
	await shop.system.clock.advance(60_000)
	expect(await shop.system.outbox.attempts(messages[0]?.id ?? '')).toMatchObject([
		{ attempt: 1, outcome: 'retry', statusCode: 503, response: 'no stock' },
		{ attempt: 2, outcome: 'sent', statusCode: 200, response: 'thanks' },
	])
})

test('trace headers of the outbox are not sent to customers, headers of the event are', async () => {
	await using shop = await setupWebhooks()
	await create(shop, A)
	const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'X-Region': 'eu' }
	await shop.webhooks.enqueue({ ...EVENT, headers })
	await shop.start()
	await shop.system.clock.advance(1_000)
	const sent = shop.received[0]?.headers
	expect(sent?.get('x-region')).toBe('eu')
	expect(sent?.get('traceparent')).toBe(null)
})

test('a header value outside Latin-1 is percent-encoded (regression: every attempt failed, and its endpoint counted as failing)', async () => {
	await using shop = await setupWebhooks()
	await create(shop, A)
	await shop.webhooks.enqueue({ ...EVENT, headers: { 'x-city': '東京', 'x-region': 'Île 5%' } })
	await shop.start()
	await shop.system.clock.advance(1_000)
	expect(shop.received[0]?.headers.get('x-city')).toBe('%E6%9D%B1%E4%BA%AC')
	expect(shop.received[0]?.headers.get('x-region')).toBe('Île 5%')
	expect(shop.events).toEqual([])
})

test('an endpoint that works again recovers once, however many deliveries are in flight (regression: each of them emitted an event)', async () => {
	await using shop = await setupWebhooks()
	await create(shop, A)
	shop.respond(A, () => new Response(null, { status: shop.received.length === 1 ? 500 : 200 }))
	await shop.webhooks.enqueue(EVENT)
	await shop.start()
	await shop.system.clock.advance(1_000)
	for (let payload = 0; payload < 8; payload++) await shop.webhooks.enqueue({ ...EVENT, payload })
	await shop.system.clock.advance(1_000)
	expect(shop.received.length).toBeGreaterThan(5)
	const types = shop.events.map(({ type }) => type)
	expect(types).toEqual(['webhook_endpoint_failing', 'webhook_endpoint_recovered'])
})
