import { expect, test } from 'vitest'
import { setupWebhooks } from './setup.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

const DOWN_AT = MINUTE
const PHASE = 10 * MINUTE
const UP_AT = DOWN_AT + 3 * PHASE

/** The longest open time of a circuit, a probe that hangs when the outage ends, other attempts that hang, the ramp-up, and polls. */
const SOON = 5 * MINUTE + 30 * SECOND + 35 * SECOND + 10 * SECOND + 5 * SECOND

const refused = () =>
	new TypeError('fetch failed', {
		cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
	})

// Regression: messages waited for up to half an hour more, and after longer outages for hours, although all endpoints were back.
test('50 endpoints of a host that was down for half an hour get every event within minutes', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	const { clock } = system
	const arrivedAt = new Map<string, number>()
	const urls = Array.from({ length: 50 }, (_, n) => `https://host.example.com/${n}`)
	for (const url of urls) {
		await webhooks.endpoints.create({ url, topics: ['*'] })
		shop.respond(url, ({ at, signal, body }) => {
			if (at >= DOWN_AT && at < DOWN_AT + PHASE) throw refused()
			if (at >= DOWN_AT && at < DOWN_AT + 2 * PHASE) return new Response(null, { status: 503 })
			if (at >= DOWN_AT && at < UP_AT)
				return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
			arrivedAt.set(`${url} ${body}`, at)
			return new Response(null, { status: 204 })
		})
	}
	await shop.start()
	let events = 0
	while (clock.now() < UP_AT) {
		await webhooks.enqueue({ topic: 'order.placed', payload: events++ })
		await clock.advance(2 * MINUTE)
	}
	await clock.advance(UP_AT + SOON - clock.now())
	expect(arrivedAt.size).toBe(events * urls.length)
	expect(await system.outbox.list()).toEqual([])
	const recovered = shop.events.filter(({ type }) => type === 'webhook_endpoint_recovered')
	expect(new Set(recovered.map(({ endpointId }) => endpointId)).size).toBe(urls.length)
	expect(await webhooks.stats()).toMatchObject({ enabled: urls.length, failing: 0 })
}, 300_000)
