/** The client and the servers of this package together: every order has exactly one effect, however often its connection is reset. */
import { describe, expect, test } from 'vitest'
import { ResilientHttpClient } from 'yaoki/http'
import { seededRandom } from 'yaoki/testing'
import { frameworks } from '../adapters/framework-servers.ts'
import { servers, setup } from '../adapters/servers.ts'
import { resettingNetwork } from '../resetting-network.ts'
import { setupPostgres } from '../store/postgres/setup.ts'

/** Of all servers together. */
const ORDERS = 10_000
const CONCURRENCY = 20

const ALL = [...servers, ...frameworks]

const database = setupPostgres()

describe('orders over a network that resets connections', () => {
	test.each(ALL)('reach %s, none lost and none doubled', { timeout: 300_000 }, async (_, start) => {
		const effects = new Map<string, number>()
		const { url } = await setup(
			start,
			async (_context, body) => {
				const { id } = JSON.parse(body.toString())
				effects.set(id, (effects.get(id) ?? 0) + 1)
				// The network may reset the connection now.
				await new Promise((resolve) => setImmediate(resolve))
				return {
					status: 201,
					headers: [['content-type', 'application/json']],
					body: JSON.stringify({ id, receipt: 'r'.repeat(500) }),
				}
			},
			{
				name: 'orders',
				store: database.store,
				principal: () => 'shop',
				waitMs: 60_000,
				storeTimeoutMs: 60_000,
				leaseMs: 300_000,
			},
		)
		const network = await resettingNetwork(url, seededRandom(17))
		const client = new ResilientHttpClient({
			baseUrl: network.url,
			idempotency: 'auto',
			timeout: 120_000,
			totalTimeoutMs: 600_000,
			// Reads the body as a part of the attempt, so that one that breaks off is retried too.
			validateResponse: async (response) => typeof (await response.json()).id === 'string',
			maxRetries: 30,
			baseDelayMs: 1,
			maxDelayMs: 20,
			circuitBreaker: false,
			budget: { minRetriesPerSecond: 1_000_000 },
		})
		const ids = Array.from({ length: Math.ceil(ORDERS / ALL.length) }, (_, at) => `order-${at}`)
		const replies = new Map<string, number>()
		const left = ids.values()
		await Promise.all(
			Array.from({ length: CONCURRENCY }, async () => {
				for (const id of left) {
					const response = await client.post('/orders', { json: { id } })
					const { id: replied } = (await response.json()) as { id: string }
					expect([response.status, replied]).toEqual([201, id])
					replies.set(id, (replies.get(id) ?? 0) + 1)
				}
			}),
		)
		expect(replies.size).toBe(ids.length)
		expect(effects.size).toBe(ids.length)
		expect([...effects].filter(([, count]) => count !== 1)).toEqual([])
		expect(network.resets.inHandler).toBeGreaterThan(ids.length * 0.02)
		expect(network.resets.inResponse).toBeGreaterThan(ids.length * 0.08)
	})
})
