/** A burst of 70 requests on a pool of 10 became 248 times 503 over 32 s, although the database was healthy. */
import { expect, test } from 'vitest'
import { openShop } from './shop.ts'

const ids = Array.from({ length: 70 }, (_, at) => `order-${100 + at}`)

test.each([
	// No connection is open when the burst begins.
	['whose handlers hold connections for half a second', 'select pg_sleep(0.5)', 0],
	['that other queries hold for longer than storeTimeoutMs', 'select 1', 3],
])(
	'70 concurrent orders on a pool of 10, %s, do not open the circuit of the store',
	async (_, query, heldS) => {
		const shop = await openShop(query)
		const held = Array.from({ length: heldS > 0 ? 10 : 0 }, () =>
			shop.pool.query('select pg_sleep($1)', [heldS]),
		)
		const statuses = await Promise.all(ids.map((id) => shop.order(id)))
		await Promise.all(held)
		expect(statuses).toEqual(ids.map(() => 201))
		expect(await shop.effects()).toEqual(ids)
		expect([...shop.circuitStates]).toEqual(['closed'])
		expect([...shop.claimErrors].filter((name) => name !== 'BulkheadRejectedError')).toEqual([])
		if (heldS > 0) expect(shop.claimErrors.size).toBe(1)
	},
)
