/** The slow test beside this one compares every order of layers. */
import { expect, test } from 'vitest'
import { compareAll } from './compare.ts'
import { ORDERS } from './scripts.ts'

test.each([false, true])('production and simulation agree with ignoresSignal %s', async (ignoresSignal) => {
	const some = ORDERS.filter((_, index) => index % 32 === 0)
	const { differences, events } = await compareAll(some, [1], ignoresSignal)
	expect(differences).toEqual([])
	expect(events).toBeGreaterThan(500)
})
