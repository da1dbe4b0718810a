import { expect, test } from 'vitest'
import { setupWebhooks } from './setup.ts'

const ENDPOINTS = 10_000
const HANGING = 'https://hanging.example.com/'

test('of 10,000 endpoints one hangs, and the others get their events within seconds', async () => {
	await using shop = await setupWebhooks()
	const { webhooks, system } = shop
	await webhooks.endpoints.create({ url: HANGING, topics: ['*'] })
	for (let n = 1; n < ENDPOINTS; n++)
		await webhooks.endpoints.create({ url: `https://c-${n}.example.com/`, topics: ['order.*'] })
	shop.respond(HANGING, () => new Promise(() => {}))
	for (const payload of [1, 2]) {
		const { messages } = await webhooks.enqueue({ topic: 'order.placed', payload })
		expect(messages).toHaveLength(ENDPOINTS)
	}
	await shop.start()
	await system.clock.advance(20_000)
	const urls = shop.received.map(({ url }) => url).filter((url) => url !== HANGING)
	expect(urls).toHaveLength(2 * (ENDPOINTS - 1))
	expect(new Set(urls).size).toBe(ENDPOINTS - 1)
	expect((await system.outbox.list()).map(({ attempts }) => attempts)).toEqual([1, 1])
}, 120_000)
