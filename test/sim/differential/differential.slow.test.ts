/** Every order of up to five layers, in random scripts. `npx vitest run --project slow test/sim/differential` prints the counts. */
import { expect, test } from 'vitest'
import { compareAll } from './compare.ts'
import { ORDERS } from './scripts.ts'

test.each([
	['end when their signal aborts', false],
	['ignore their signal', true],
])('production and simulation agree in all orders of layers if operations %s', async (_, ignoresSignal) => {
	const { differences, ...counts } = await compareAll(ORDERS, [1, 2], ignoresSignal)
	console.log({ ...counts, differences: differences.length })
	expect(differences).toEqual([])
	expect(counts).toMatchObject({ scripts: 650, calls: 39_000 })
	expect(counts.events).toBeGreaterThan(80_000)
})
