/** Fails if a change of the policy, or of the numbers, makes an outage last longer than its cause. */
import { test } from 'node:test'
import { expectResilience, replicate } from 'yaoki/sim'
import { createStockPolicy } from './policy.ts'
import { FAILOVER, SLOW, shop } from './stock.ts'

for (const [name, fault] of Object.entries({ SLOW, FAILOVER })) {
	test(`the shop survives ${name}`, () => {
		const result = replicate(
			shop(({ runtime }) => createStockPolicy(runtime), fault),
			{ replications: 5 },
		)
		expectResilience(result).toRecoverWithin(3_000).amplificationBelow(1.1).goodShareAbove(0.75)
	})
}
