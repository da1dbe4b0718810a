import { describe, expect, test } from 'vitest'
import { type Outbox, WebhookEndpointError, Webhooks } from 'yaoki/outbox'
import { virtualRuntime } from 'yaoki/testing'
import { A, B, setupWebhooks } from './setup.ts'

const EVENT = { topic: 'order.placed', payload: 1 }
const MINUTE = 60_000
const UNKNOWN = '019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77'
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Everything that a person can read of the outbox, except the rows of the endpoints themselves. */
const readable = async (outbox: Outbox): Promise<string> =>
	JSON.stringify([await outbox.list(), await outbox.dead.list(), await outbox.audit(), await outbox.stats()])

test('create returns the endpoint and its secret, which no other method returns', async () => {
	await using shop = await setupWebhooks()
	const { endpoints } = shop.webhooks
	const given = { url: A, topics: ['order.*', 'order.*', 'invoice.paid'], tenant: 'ada', description: 'main' }
	const { endpoint, secret } = await endpoints.create({ ...given, by: 'grace', reason: 'ticket 7' })
	expect(endpoint).toEqual({
		id: endpoint.id,
		destination: `webhook:${endpoint.id}`,
		tenant: 'ada',
		url: A,
		topics: ['order.*', 'invoice.paid'],
		description: 'main',
		isEnabled: true,
		disabledReason: undefined,
		disabledAt: undefined,
		failingSince: undefined,
		failures: 0,
		createdAt: expect.any(Date),
	})
	expect(secret).toMatch(/^whsec_/)
	expect(await endpoints.find(endpoint.id.toUpperCase())).toEqual(endpoint)
	expect(await endpoints.list({ tenant: 'ada', topic: 'order.*', isEnabled: true })).toEqual([endpoint])
	expect(await endpoints.list({ tenant: '' })).toEqual([])
	expect(await endpoints.find(UNKNOWN)).toBeUndefined()
	expect(await endpoints.find('no id')).toBeUndefined()
	const audit = await shop.system.outbox.audit({ action: 'create-endpoint' })
	expect(audit).toMatchObject([{ by: 'grace', reason: 'ticket 7', destination: endpoint.destination }])
	expect(await readable(shop.system.outbox)).not.toContain(secret.slice(6))
})

test('lists endpoints in pages, oldest first', async () => {
	await using shop = await setupWebhooks()
	const { endpoints } = shop.webhooks
	for (let n = 0; n < 5; n++) await endpoints.create({ url: `${A}/${n}`, topics: ['*'] })
	const first = await endpoints.list({}, { limit: 3 })
	const second = await endpoints.list({}, { limit: 3, after: first.at(-1)?.id })
	expect([...first, ...second].map(({ url }) => url.at(-1))).toEqual(['0', '1', '2', '3', '4'])
})

test('queued messages go to the new URL, and topics can be changed', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	const { endpoint } = await webhooks.endpoints.create({ url: A, topics: ['order.*'], description: 'old' })
	await webhooks.enqueue(EVENT)
	const updated = await webhooks.endpoints.update(endpoint.id, {
		url: B,
		topics: ['invoice.*'],
		description: '',
	})
	expect(updated).toMatchObject({ url: B, topics: ['invoice.*'], description: undefined })
	expect((await webhooks.enqueue(EVENT)).messages).toEqual([])
	await shop.start()
	await system.clock.advance(1_000)
	expect(shop.received.map(({ url }) => url)).toEqual([B])
})

test('a new URL closes the circuit of the former one', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	const { endpoint } = await webhooks.endpoints.create({ url: A, topics: ['*'] })
	shop.respond(A, () => new Response(null, { status: 500 }))
	for (let payload = 0; payload < 20; payload++) await webhooks.enqueue({ ...EVENT, payload })
	await shop.start({ maxConcurrent: 1 }, { pollMs: 10_000 })
	await system.clock.advance(10 * MINUTE)
	expect(shop.payloadsAt(B)).toEqual([])
	await webhooks.endpoints.update(endpoint.id, { url: B })
	await system.clock.advance(20_000)
	expect(shop.payloadsAt(B).length).toBeGreaterThan(0)
})

test('after a rotation requests are signed by both secrets, then only by the new one', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	const { endpoint, secret: old } = await webhooks.endpoints.create({ url: A, topics: ['*'] })
	await shop.start()
	const receive = async () => {
		await webhooks.enqueue(EVENT)
		await system.clock.advance(1_000)
		return shop.received.at(-1)
	}
	await shop.verify(await receive(), old)
	const { secret } = await webhooks.endpoints.rotateSecret(endpoint.id, { keepForMs: 10 * MINUTE })
	const both = await receive()
	await shop.verify(both, old)
	await shop.verify(both, secret)
	await system.clock.advance(11 * MINUTE)
	const last = await receive()
	await shop.verify(last, secret)
	await expect(shop.verify(last, old)).rejects.toMatchObject({ reason: 'invalid-signature' })
	expect(last?.headers.get('webhook-signature')?.split(' ')).toHaveLength(1)
	expect(await readable(system.outbox)).not.toContain(secret.slice(6))
})

test('a rotation with keepForMs 0 ends the former secret with the next look-up', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	const { endpoint, secret: old } = await webhooks.endpoints.create({ url: A, topics: ['*'] })
	const { secret } = await webhooks.endpoints.rotateSecret(endpoint.id, { keepForMs: 0, secret: SECRET })
	expect(secret).toBe(SECRET)
	await webhooks.enqueue(EVENT)
	await shop.start()
	await system.clock.advance(1_000)
	await expect(shop.verify(shop.received[0], old)).rejects.toMatchObject({ reason: 'invalid-signature' })
})

test('concurrent rotations keep all new secrets', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	const { endpoint } = await webhooks.endpoints.create({ url: A, topics: ['*'] })
	const rotated = await Promise.all([1, 2, 3].map(() => webhooks.endpoints.rotateSecret(endpoint.id)))
	await webhooks.enqueue(EVENT)
	await shop.start()
	await system.clock.advance(1_000)
	for (const { secret } of rotated) await shop.verify(shop.received[0], secret)
})

test('disable keeps messages in the queue and writes no new ones, enable sends them', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system, events } = shop
	const { endpoint } = await webhooks.endpoints.create({ url: A, topics: ['*'] })
	await webhooks.enqueue(EVENT)
	const note = { by: 'grace', reason: 'asked for it' }
	expect(await webhooks.endpoints.disable(endpoint.id, note)).toMatchObject({
		isEnabled: false,
		disabledReason: 'operator',
	})
	await webhooks.endpoints.disable(endpoint.id)
	await shop.start()
	await system.clock.advance(MINUTE)
	expect(shop.received).toEqual([])
	expect((await webhooks.enqueue(EVENT)).messages).toEqual([])
	await webhooks.endpoints.enable(endpoint.id)
	await webhooks.endpoints.enable(endpoint.id)
	await system.clock.advance(10_000)
	expect(shop.received).toHaveLength(1)
	expect(events.map(({ type }) => type)).toEqual(['webhook_endpoint_disabled', 'webhook_endpoint_enabled'])
	expect(await system.outbox.audit({ action: 'disable-endpoint' })).toMatchObject([{}, note])
})

test('test sends a message to one endpoint, also if topics of the outbox are limited', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	const { endpoint, secret } = await webhooks.endpoints.create({ url: A, topics: ['invoice.*'] })
	await webhooks.endpoints.create({ url: B, topics: ['*'] })
	const { id } = await webhooks.endpoints.test(endpoint.id)
	await shop.start()
	await system.clock.advance(1_000)
	expect(shop.received.map(({ url }) => url)).toEqual([A])
	const verified = await shop.verify(shop.received[0], secret)
	expect(verified.json()).toEqual({ type: 'webhook.test', data: { endpointId: endpoint.id } })
	expect(await system.outbox.attempts(id)).toMatchObject([{ outcome: 'sent', statusCode: 204 }])
})

describe('resend and replay', () => {
	test('replay writes kept events for an endpoint that was added later, with the same webhook-id', async () => {
		await using shop = await setupWebhooks({ keepEventsForMs: 60 * MINUTE })
		const { webhooks, system } = shop
		await webhooks.endpoints.create({ url: A, topics: ['*'] })
		const eventIds: string[] = []
		for (const payload of [1, 2, 3]) {
			eventIds.push((await webhooks.enqueue({ ...EVENT, payload })).eventId)
			await webhooks.enqueue({ topic: 'invoice.paid', payload })
			await webhooks.enqueue({ ...EVENT, payload, tenant: 'ada' })
			await system.clock.advance(MINUTE)
		}
		const { endpoint } = await webhooks.endpoints.create({ url: B, topics: ['order.*'] })
		const since = new Date(system.clock.wallNow() - 2.5 * MINUTE)
		expect(await webhooks.endpoints.replay(endpoint.id, { since })).toEqual({ written: 2 })
		await shop.start()
		await system.clock.advance(1_000)
		expect(shop.payloadsAt(B)).toEqual([2, 3])
		const ids = shop.received.filter(({ url }) => url === B).map(({ headers }) => headers.get('webhook-id'))
		expect(ids).toEqual(eventIds.slice(1))
	})

	test('the rate of a replay becomes the due times of its messages', async () => {
		await using shop = await setupWebhooks({ keepEventsForMs: 60 * MINUTE })
		const { webhooks, system } = shop
		for (let payload = 0; payload < 20; payload++) await webhooks.enqueue({ ...EVENT, payload })
		const { endpoint } = await webhooks.endpoints.create({ url: A, topics: ['*'] })
		const options = { since: new Date(0), ratePerSecond: 2 }
		expect(await webhooks.endpoints.replay(endpoint.id, options)).toEqual({ written: 20 })
		await shop.start()
		await system.clock.advance(4_900)
		expect(shop.received.length).toBeGreaterThanOrEqual(9)
		expect(shop.received.length).toBeLessThanOrEqual(11)
		await system.clock.advance(10_000)
		expect(shop.payloadsAt(A)).toEqual(Array.from({ length: 20 }, (_, n) => n))
	})

	test.each([60 * MINUTE, -60 * MINUTE])(
		'a replay keeps its rate although the clock of its process differs by %i ms (regression: messages waited for an hour, or were all due)',
		async (difference) => {
			await using shop = await setupWebhooks({ keepEventsForMs: 60 * MINUTE })
			const { webhooks, system } = shop
			for (let payload = 0; payload < 10; payload++) await webhooks.enqueue({ ...EVENT, payload })
			const { endpoint } = await webhooks.endpoints.create({ url: A, topics: ['*'] })
			const runtime = virtualRuntime()
			runtime.jumpWallClock(difference)
			const other = new Webhooks(system.outbox, { keepEventsForMs: 60 * MINUTE, runtime })
			await other.endpoints.replay(endpoint.id, { since: new Date(0), ratePerSecond: 2 })
			const due = (await system.outbox.list()).map(({ nextRetryAt }) => Number(nextRetryAt))
			const now = system.clock.wallNow()
			expect(due.map((time) => time - now)).toEqual(Array.from({ length: 10 }, (_, n) => n * 500))
		},
	)

	test('events are not kept longer than keepEventsForMs', async () => {
		await using shop = await setupWebhooks({ keepEventsForMs: 5 * MINUTE })
		const { webhooks, system } = shop
		await webhooks.enqueue(EVENT)
		await shop.start({}, { pollMs: 30_000 })
		await system.clock.advance(30 * MINUTE)
		const { endpoint } = await webhooks.endpoints.create({ url: A, topics: ['*'] })
		expect(await webhooks.endpoints.replay(endpoint.id, { since: new Date(0) })).toEqual({ written: 0 })
	})

	test('replay rejects by and reason (regression: they had no effect)', async () => {
		await using shop = await setupWebhooks({ keepEventsForMs: 60 * MINUTE })
		const { endpoints } = shop.webhooks
		const { endpoint } = await endpoints.create({ url: A, topics: ['*'] })
		const options = { since: new Date(0), by: 'ada' }
		await expect(endpoints.replay(endpoint.id, options)).rejects.toThrow(
			'Unknown option "by" for endpoints.replay',
		)
	})

	test('replay without kept events is rejected, and names the option', async () => {
		await using shop = await setupWebhooks()
		const { endpoints } = shop.webhooks
		const { endpoint } = await endpoints.create({ url: A, topics: ['*'] })
		await expect(endpoints.replay(endpoint.id, { since: new Date(0) })).rejects.toMatchObject({
			optionPath: 'keepEventsForMs',
		})
	})

	test('resend delivers dead letters again, with the same webhook-id', async () => {
		await using shop = await setupWebhooks()
		const { webhooks, system } = shop
		const { endpoint } = await webhooks.endpoints.create({ url: A, topics: ['*'] })
		shop.respond(A, () => new Response(null, { status: 500 }))
		const { eventId } = await webhooks.enqueue(EVENT)
		await shop.start({ retry: { maxRetries: 0 } })
		await system.clock.advance(10_000)
		expect(await system.outbox.dead.list()).toHaveLength(1)
		shop.respond(A, () => new Response(null))
		expect(await webhooks.endpoints.resend(endpoint.id, { since: new Date(0) })).toEqual({ resent: 1 })
		await system.clock.advance(10_000)
		expect(shop.received.map(({ headers }) => headers.get('webhook-id'))).toEqual([eventId, eventId])
		expect(await webhooks.endpoints.resend(endpoint.id, { since: new Date(0) })).toEqual({ resent: 0 })
	})
})

describe('rejects', () => {
	const ENDPOINT = { url: A, topics: ['*'] }
	test.each([
		['no URL', { topics: ['*'] }, 'url'],
		['a URL of another scheme', { ...ENDPOINT, url: 'ftp://a.example.com' }, 'url'],
		['no topics', { url: A }, 'topics'],
		['an empty list of topics', { url: A, topics: [] }, 'topics'],
		['an asterisk in the middle', { url: A, topics: ['*', 'order.*.placed'] }, 'topics[1]'],
		['an asterisk without a dot', { url: A, topics: ['order*'] }, 'topics[0]'],
		['an empty tenant', { ...ENDPOINT, tenant: '' }, 'tenant'],
		['an unknown field', { ...ENDPOINT, topic: 'order' }, 'topic'],
		['a short secret', { ...ENDPOINT, secret: 'whsec_c2hvcnQ=' }, 'secret'],
		['a secret of another kind', { ...ENDPOINT, secret: 'correct horse battery staple' }, 'secret'],
		['a public key', { ...ENDPOINT, secret: `whpk_${Buffer.alloc(32).toString('base64')}` }, 'secret'],
	])('%s', async (_, given, option) => {
		await using shop = await setupWebhooks()
		const rejected = await shop.webhooks.endpoints.create(given as never).catch((error: unknown) => error)
		const { optionPath, argument } = rejected as { readonly optionPath?: string; readonly argument?: string }
		expect(optionPath ?? argument).toBe(option)
		const { secret } = given as { readonly secret?: string }
		if (secret !== undefined) expect(JSON.stringify(rejected) + String(rejected)).not.toContain(secret)
		expect(await shop.webhooks.endpoints.list()).toEqual([])
	})

	test.each(['update', 'rotateSecret', 'disable', 'enable', 'test', 'resend', 'replay'] as const)(
		'%s of an endpoint that does not exist',
		async (method) => {
			await using shop = await setupWebhooks({ keepEventsForMs: 1 })
			const { endpoints } = shop.webhooks
			const options = method === 'update' ? { url: A } : { since: new Date(0) }
			const call = endpoints[method] as (id: string, options?: object) => Promise<unknown>
			const withOptions = ['update', 'resend', 'replay'].includes(method)
			const rejected = call.call(endpoints, UNKNOWN, withOptions ? options : {})
			await expect(rejected).rejects.toBeInstanceOf(WebhookEndpointError)
			await expect(rejected).rejects.toMatchObject({ endpointId: UNKNOWN })
		},
	)
})

describe('encrypted secrets', () => {
	const flip = (text: string) => [...text].reverse().join('')
	const secretEncryption = {
		encrypt: (text: string) => flip(text),
		decrypt: async (text: string) => flip(text),
	}

	test('are stored as encrypt returned them, and sign', async () => {
		await using shop = await setupWebhooks({ secretEncryption })
		const { webhooks, system } = shop
		const { secret, endpoint } = await webhooks.endpoints.create({ url: A, topics: ['*'] })
		const [row] = system.tx.prepare('SELECT * FROM yaoki_webhook_endpoints').all()
		expect(JSON.stringify(row)).not.toContain(secret)
		expect(JSON.stringify(row)).toContain(flip(secret))
		const rotated = await webhooks.endpoints.rotateSecret(endpoint.id)
		await webhooks.enqueue(EVENT)
		await shop.start()
		await system.clock.advance(1_000)
		await shop.verify(shop.received[0], secret)
		await shop.verify(shop.received[0], rotated.secret)
	})

	test.each([
		['the secret itself', (text: string) => text],
		['nothing', () => undefined],
	])('encrypt may not return %s', async (_, encrypt) => {
		const encryption = { ...secretEncryption, encrypt: encrypt as (text: string) => string }
		await using shop = await setupWebhooks({ secretEncryption: encryption })
		const rejected = shop.webhooks.endpoints.create({ url: A, topics: ['*'] })
		await expect(rejected).rejects.toMatchObject({ code: 'YAOKI_WEBHOOK_SECRET' })
	})

	test.each([
		['without secretEncryption', undefined],
		[
			'whose decrypt fails',
			{
				...secretEncryption,
				decrypt: () => {
					throw new Error('the key service is down')
				},
			},
		],
	])('messages wait while the relay is one %s (regression: they became dead letters)', async (_, broken) => {
		await using shop = await setupWebhooks({ secretEncryption })
		const { webhooks, system } = shop
		await webhooks.endpoints.create({ url: A, topics: ['*'] })
		await webhooks.enqueue({ ...EVENT, maxRetries: 0 })
		await webhooks.enqueue(EVENT)
		const without = new Webhooks(system.outbox, {
			ssrfProtection: false,
			fetch: async () => new Response(null),
			secretEncryption: broken,
			runtime: system.clock,
		})
		const relay = await system.relay({ ...without.destinations() })
		await system.clock.advance(30_000)
		expect(await system.outbox.dead.list()).toEqual([])
		const queued = await system.outbox.list()
		expect(queued.map(({ attempts }) => attempts)).toEqual([0, 0])
		expect(system.eventsOf('relay_state_change')[0]).toMatchObject({
			to: 'open',
			reason: 'credentials',
			errorMessage: expect.stringContaining('secretEncryption'),
		})
		expect(await system.outbox.why(queued[0]?.id ?? '')).toContain('because its credentials are missing')
		await Promise.all([relay.stop(), system.clock.advance(1_000)])
		await shop.start()
		await system.clock.advance(3 * MINUTE)
		expect(shop.received).toHaveLength(2)
	})
})
