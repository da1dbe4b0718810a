import { circuitBreaker, HttpError, pipeline, presets, retry, timeout } from 'yaoki'

// Your code. This service is down.
let requests = 0
async function loadUser(_id: string, _signal: AbortSignal): Promise<string> {
	requests++
	throw new HttpError(503)
}

const users = pipeline(
	{ name: 'users' },
	circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 2_000, resetBackoff: {} }),
	retry(presets.interactive),
	timeout(1_000),
)

for (let call = 1; call <= 7; call++) {
	const result = await users.settle(({ signal }) => loadUser('7', signal))
	console.log(`call ${call}, ${requests} requests: ${result.ok ? result.value : result.error}`)
}
