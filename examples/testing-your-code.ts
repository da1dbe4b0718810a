/** Three ways to test code with retries, without waiting. */
import assert from 'node:assert/strict'
import { pipeline, presets, retry, retryWithBackoff } from 'yaoki'
import { faults, skipDelays, virtualRuntime } from 'yaoki/testing'

const alwaysFails = async (): Promise<never> => {
	throw new Error('down')
}

// 1. Your production policy, with delays that take no time.
const policy = skipDelays(retry(presets.batch))
await assert.rejects(policy.execute(alwaysFails), /down/)
console.log('half an hour of retries in no time')

// 2. A virtual clock, if the times matter.
const clock = virtualRuntime({ seed: 7 })
const at: number[] = []
const result = retryWithBackoff(
	() => {
		at.push(clock.now())
		if (at.length < 4) throw new Error('not yet')
		return 'ok'
	},
	{ baseDelayMs: 1_000, jitterStrategy: 'none', runtime: clock },
)
await clock.runUntilIdle()
assert.equal(await result, 'ok')
console.log(`attempts at ${at.join(', ')} ms`)

// 3. Fault injection, in the place of the network.
const shaky = pipeline({ runtime: clock }, retry({ maxRetries: 10 }), faults({ errorRate: 0.5, seed: 7 }))
const settled = Promise.all(Array.from({ length: 100 }, () => shaky.settle(() => 'ok')))
await clock.runUntilIdle()
console.log(`${(await settled).filter(({ ok }) => ok).length} of 100 calls succeeded with 50 % faults`)
