/**
 * Sender, relay and receiver are killed at random moments: every order has its effect once. `KILLS_ORDERS=1000 npm run orms -- kills` is the
 * full size, with at least one kill of each process per 50 orders.
 */
import { describe, expect, test } from 'vitest'
import { runKills } from './kills/run-kills.ts'

const ORDERS = Number(process.env['KILLS_ORDERS'] ?? 100)
const MIN_KILLS = Math.max(2, Math.ceil(ORDERS / 50))
/** With many kills, at least one comes between the effect of a message and the response to the relay. */
const isFullSize = ORDERS >= 1_000

describe('orders of an Express server reach a Fastify server with an inbox', () => {
	test.each(['sender-drizzle', 'sender-prisma'] as const)(
		'each has its effect once although all processes are killed: %s',
		async (sender) => {
			const { deliveries, kills, ...result } = await runKills(sender, ORDERS, MIN_KILLS)
			console.log(`${sender}: ${ORDERS} orders, ${deliveries} deliveries, kills ${JSON.stringify(kills)}`)
			expect(result).toEqual({ orders: ORDERS, missing: [], repeated: [], deadLetters: 0 })
			expect(Math.min(...Object.values(kills))).toBeGreaterThanOrEqual(MIN_KILLS)
			expect(deliveries).toBeGreaterThanOrEqual(isFullSize ? ORDERS + 1 : ORDERS)
		},
		1_800_000,
	)
})
