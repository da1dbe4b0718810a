/** A database that was away for 0.7 s cost 90 % of the orders: the circuit of the store was open for 30 s. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { openShop } from './shop.ts'

const ids = Array.from({ length: 150 }, (_, at) => `order-${100 + at}`)

test('30 orders a second while PostgreSQL is away for 0.7 s: each has one effect', async () => {
	// The adapter reports handlers whose query lost its connection.
	vi.spyOn(console, 'error').mockImplementation(() => {})
	const shop = await openShop('select pg_sleep(0.05)')
	const sent: Promise<unknown>[] = []
	let restarted: Promise<void> | undefined
	for (const id of ids) {
		sent.push(shop.order(id))
		await pause(1_000 / 30)
		if (sent.length === 45) restarted = shop.database.restart(700)
	}
	const statuses = await Promise.all(sent)
	await restarted
	expect(statuses).toEqual(ids.map(() => 201))
	expect(await shop.effects()).toEqual(ids)
	// Otherwise the database was not away.
	expect(shop.claimErrors.size).toBeGreaterThan(0)
})
