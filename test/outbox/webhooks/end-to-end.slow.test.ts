/** Events of a shop on PostgreSQL reach receivers over real sockets, with the protection on and loopback allowed. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import {
	Inbox,
	Outbox,
	type OutboxOptions,
	postgresInboxStore,
	postgresOutboxStore,
	Relay,
	type RelayEvent,
	Webhooks,
	type WebhooksOptions,
} from 'yaoki/outbox'
import { verifyWebhook, WebhookVerificationError } from 'yaoki/webhooks'
import { eventually } from '../../support/eventually.ts'
import { listen } from '../../support/listen.ts'
import { postgresDatabase } from '../../support/postgres-database.ts'

async function startReceiver(
	respond: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
) {
	const server = createServer((request, response) => void respond(request, response))
	const port = await listen(server)
	onTestFinished(() => void server.close().closeAllConnections())
	return { port, url: `http://127.0.0.1:${port}/hooks` }
}

async function startShop(
	{ outbox: outboxOptions, ...options }: WebhooksOptions & { readonly outbox?: Partial<OutboxOptions> } = {},
	ports: readonly number[] = [],
) {
	const database = await postgresDatabase()
	const pool = new pg.Pool(database.connection)
	const outbox = new Outbox({
		store: postgresOutboxStore({ client: pool }),
		outsideTransaction: 'reject',
		...outboxOptions,
	})
	await outbox.migrate()
	const webhooks = new Webhooks(outbox, {
		ssrfProtection: { allow: ['127.0.0.1'], allowHttp: true, ports },
		...options,
	})
	const events: RelayEvent[] = []
	const relay = new Relay(outbox, {
		destinations: {
			...webhooks.destinations({ retry: { baseDelayMs: 20, growth: 'constant', maxRetries: 5 } }),
		},
		circuitBreaker: { resetTimeoutMs: 100, resetBackoff: { initialMs: 10 } },
		pollMs: 50,
		onEvent: (event) => events.push(event),
	})
	onTestFinished(async () => {
		await relay.stop()
		await webhooks.close()
		await outbox.close()
		await pool.end()
		await database[Symbol.asyncDispose]()
	})
	/** Writes an event in a transaction that ends with `end`. */
	const place = async (payload: unknown, end = 'commit') => {
		const tx = await pool.connect()
		try {
			await tx.query('begin')
			const result = await webhooks.enqueue({ topic: 'order.placed', payload }, { tx })
			await tx.query(end)
			return result
		} finally {
			tx.release()
		}
	}
	return { pool, outbox, webhooks, relay, events, place }
}

test('a committed event arrives once at a receiver with an inbox, a rolled back one does not', async () => {
	const secrets: string[] = []
	const seen: unknown[] = []
	const receiverDatabase = await postgresDatabase()
	const receiverPool = new pg.Pool(receiverDatabase.connection)
	const inbox = new Inbox({ store: postgresInboxStore({ client: receiverPool }) })
	await inbox.migrate()
	onTestFinished(async () => {
		await inbox.close()
		await receiverPool.end()
		await receiverDatabase[Symbol.asyncDispose]()
	})
	let isFirst = true
	const { url, port } = await startReceiver(async (request, response) => {
		const tx = await receiverPool.connect()
		try {
			const webhook = await verifyWebhook(request, secrets)
			await tx.query('begin')
			await inbox.once(webhook.id, { tx }, () => void seen.push(webhook.json()))
			await tx.query('commit')
			// The response is lost after the effect: the sender repeats the event.
			response.statusCode = isFirst ? 500 : 204
			isFirst = false
		} catch (error) {
			response.statusCode = error instanceof WebhookVerificationError ? error.statusCode : 500
		} finally {
			tx.release()
			response.end()
		}
	})
	const shop = await startShop({}, [port])
	secrets.push((await shop.webhooks.endpoints.create({ url, topics: ['order.*'] })).secret)
	await shop.place({ order: 'rolled back' }, 'rollback')
	const { messages } = await shop.place({ order: 'ü😀', total: 12.5 })
	await shop.relay.start()
	await eventually(() => expect(shop.relay.stats.sent).toBe(1))
	expect(seen).toEqual([{ order: 'ü😀', total: 12.5 }])
	const attempts = await shop.outbox.attempts(messages[0]?.id ?? '')
	expect(attempts.map(({ statusCode }) => statusCode)).toEqual([500, 204])
})

test('a receiver with another secret rejects, and says so', async () => {
	const { url, port } = await startReceiver(async (request, response) => {
		const error = await verifyWebhook(request, `whsec_${Buffer.alloc(32).toString('base64')}`).catch(
			(thrown: unknown) => thrown,
		)
		response.statusCode = error instanceof WebhookVerificationError ? error.statusCode : 500
		response.end(String(error))
	})
	const shop = await startShop({}, [port])
	await shop.webhooks.endpoints.create({ url, topics: ['*'] })
	const { messages } = await shop.place(1)
	await shop.relay.start()
	await eventually(async () =>
		expect((await shop.outbox.attempts(messages[0]?.id ?? '')).length).toBeGreaterThan(0),
	)
	const [attempt] = await shop.outbox.attempts(messages[0]?.id ?? '')
	expect(attempt).toMatchObject({ statusCode: 401, response: expect.stringContaining('signature') })
})

test('a redirect to an internal address is a failure, and the address gets nothing', async () => {
	let hits = 0
	const internal = await startReceiver((_, response) => {
		hits++
		response.end()
	})
	const { url, port } = await startReceiver((_, response) => {
		response.writeHead(307, { location: internal.url }).end()
	})
	const shop = await startShop({}, [port, internal.port])
	await shop.webhooks.endpoints.create({ url, topics: ['*'] })
	await shop.place(1)
	await shop.relay.start()
	await eventually(() => expect(shop.relay.stats.failed).toBeGreaterThan(0))
	expect(shop.events.find(({ type }) => type === 'relay_retry_scheduled')).toMatchObject({ statusCode: 307 })
	expect(hits).toBe(0)
})

test('a name that resolves to 127.0.0.1 at connect makes a dead letter, and nothing is sent', async () => {
	let hits = 0
	const server = createTcpServer(() => {
		hits++
	})
	const port = await listen(server)
	onTestFinished(() => void server.close())
	const shop = await startShop({
		ssrfProtection: {
			allowHttp: true,
			ports: [port],
			lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
		},
	})
	const { endpoint } = await shop.webhooks.endpoints.create({
		url: `http://public.example.com:${port}/`,
		topics: ['*'],
	})
	await shop.place(1)
	await shop.relay.start()
	await eventually(() => expect(shop.relay.stats.dead).toBe(1))
	const [dead] = await shop.outbox.dead.list()
	expect(dead).toMatchObject({ cause: 'permanent', lastError: { type: 'WebhookUrlError' } })
	expect(dead?.lastError?.message).not.toContain('127.0.0.1')
	expect(hits).toBe(0)
	expect(await shop.webhooks.endpoints.find(endpoint.id)).toMatchObject({ failures: 1 })
})

test('the status of half a response counts, also if its body is endless', async () => {
	const { url, port } = await startReceiver((_, response) => {
		response.writeHead(200)
		response.write('x'.repeat(100_000))
	})
	const shop = await startShop({}, [port])
	await shop.webhooks.endpoints.create({ url, topics: ['*'] })
	const { messages } = await shop.place(1)
	await shop.relay.start()
	await eventually(() => expect(shop.relay.stats.sent).toBe(1))
	const [attempt] = await shop.outbox.attempts(messages[0]?.id ?? '')
	expect(attempt).toMatchObject({ outcome: 'sent', statusCode: 200, response: expect.stringMatching(/^x+/) })
})

test('a sent message of the history and all of an endpoint can be resent, with the same webhook-id', async () => {
	const ids: unknown[] = []
	const { url, port } = await startReceiver((request, response) => {
		ids.push(request.headers['webhook-id'])
		response.end()
	})
	const shop = await startShop({ outbox: { historyForMs: 3_600_000 } }, [port])
	const { endpoint } = await shop.webhooks.endpoints.create({ url, topics: ['*'] })
	const { eventId, messages } = await shop.place(1)
	await shop.relay.start()
	await eventually(() => expect(shop.relay.stats.sent).toBe(1))
	await shop.outbox.resend(messages[0]?.id ?? '')
	await eventually(() => expect(shop.relay.stats.sent).toBe(2))
	const options = { since: new Date(Date.now() - 3_600_000), ratePerSecond: 100 }
	expect(await shop.webhooks.endpoints.resend(endpoint.id, options)).toEqual({ resent: 1 })
	await eventually(() => expect(shop.relay.stats.sent).toBe(3))
	expect(ids).toEqual([eventId, eventId, eventId])
})

test.each([
	'http://127.0.0.1/',
	'http://169.254.169.254/latest/meta-data',
	'https://ada:sesame7@customer.example.com/',
	'https://[::ffff:7f00:1]/',
	'https://localhost/',
	'https://customer.example.com:8443/',
])('an endpoint with the URL %s is rejected when it is created', async (url) => {
	const shop = await startShop({ ssrfProtection: {} })
	const error = await shop.webhooks.endpoints
		.create({ url, topics: ['*'] })
		.catch((thrown: unknown) => thrown)
	expect(error).toMatchObject({ code: 'YAOKI_WEBHOOK_URL' })
	expect(String(error)).not.toContain('sesame7')
})

test('a fetch together with the protection is rejected', async () => {
	await expect(startShop({ fetch, ssrfProtection: {} })).rejects.toMatchObject({ optionPath: 'fetch' })
})
