/** One breaker for each host: the one that is down is left alone, and the others do not notice. */
import { CircuitOpenError, circuitBreaker, HttpError, keyed, pipeline, retry } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'

const runtime = virtualRuntime({ seed: 7 })
const perHost = keyed(
	({ key }) => key ?? 'unknown',
	(host) => circuitBreaker({ name: host, failureThreshold: 3, resetTimeoutMs: 10_000 }),
)
const api = pipeline({ name: 'api', runtime }, perHost, retry({ maxRetries: 1 }))

api.subscribe((event) => {
	if (event.type === 'state_change') console.log(`${event.policy}: ${event.from} -> ${event.to}`)
})

const requests = new Map<string, number>()

async function load(host: string): Promise<string> {
	requests.set(host, (requests.get(host) ?? 0) + 1)
	if (host === 'b.example.com') throw new HttpError(503)
	return `hello from ${host}`
}

let refused = 0
for (let round = 0; round < 10; round++) {
	for (const key of ['a.example.com', 'b.example.com', 'c.example.com']) {
		const answer = api.settle(() => load(key), { key })
		await runtime.runUntilIdle()
		const result = await answer
		if (!result.ok && result.error instanceof CircuitOpenError) refused++
	}
}

for (const [host, breaker] of perHost.entries())
	console.log(`${host}: ${requests.get(host)} requests, the circuit is ${breaker.currentState}`)
console.log(`${refused} calls were refused before they were sent`)
