import assert from 'node:assert/strict'
import { circuitBreaker, HttpError, pipeline, presets, retry, timeout } from 'yaoki'
import { skipDelays } from 'yaoki/testing'

const users = pipeline(
	{ name: 'users' },
	circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 2_000, resetBackoff: {} }),
	retry(presets.interactive),
	timeout(1_000),
)

// The policy of the program. Its delays take no time.
const tested = skipDelays(users)
let requests = 0
const down = () => {
	requests++
	throw new HttpError(503)
}

for (let call = 1; call <= 5; call++) await assert.rejects(tested.execute(down), { statusCode: 503 })
assert.equal(requests, 20)

await assert.rejects(tested.execute(down), { name: 'CircuitOpenError' })
assert.equal(requests, 20)
console.log('passed')
