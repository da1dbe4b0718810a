import { setTimeout as sleep } from 'node:timers/promises'
import { circuitBreaker, explain, HttpError, pipeline, presets, retry, timeout } from 'yaoki'

// Your code. This service is busy, then hangs, and then has no such user.
let requests = 0
async function loadUser(_id: string, signal: AbortSignal): Promise<string> {
	requests++
	if (requests === 1) throw new HttpError(503)
	if (requests === 2) await sleep(60_000, undefined, { signal })
	throw new HttpError(404)
}

const users = pipeline(
	{ name: 'users' },
	circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 2_000, resetBackoff: {} }),
	retry(presets.interactive),
	timeout(1_000),
)

try {
	await users.execute(({ signal }) => loadUser('7', signal), { name: 'load user 7' })
} catch (error) {
	console.log(`thrown: ${error}`)
	console.log(String(explain(error)))
}
