/** Three ways to test code that retries, none of which waits. */
import assert from 'node:assert/strict'
import { pipeline, presets, retry, retryWithBackoff } from 'yaoki'
import { faults, skipDelays, virtualRuntime } from 'yaoki/testing'

const alwaysFails = async (): Promise<never> => {
	throw new Error('down')
}

// 1. Your production policy, with waits that take no time.
const policy = skipDelays(retry(presets.batch))
await assert.rejects(policy.execute(alwaysFails), /down/)
console.log('half an hour of retries, without waiting')

// 2. A clock of your own, when the moments matter.
const clock = virtualRuntime({ seed: 7 })
const at: number[] = []
const answer = retryWithBackoff(
	() => {
		at.push(clock.now())
		if (at.length < 4) throw new Error('not yet')
		return 'ok'
	},
	{ baseDelayMs: 1_000, jitterStrategy: 'none', runtime: clock },
)
await clock.runUntilIdle()
assert.equal(await answer, 'ok')
console.log(`calls at ${at.join(', ')} ms`)

// 3. Trouble on purpose, where the network would be.
const shaky = pipeline({ runtime: clock }, retry({ maxRetries: 10 }), faults({ errorRate: 0.5, seed: 7 }))
const settled = Promise.all(Array.from({ length: 100 }, () => shaky.settle(() => 'ok')))
await clock.runUntilIdle()
console.log(
	`${(await settled).filter(({ ok }) => ok).length} of 100 calls came through a network that loses half`,
)
