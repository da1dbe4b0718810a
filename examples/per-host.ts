/** One breaker per host: a host that is down is not called, and the other hosts are not affected. */
import { CircuitOpenError, circuitBreaker, HttpError, keyed, pipeline, retry } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'

const runtime = virtualRuntime({ seed: 7 })
const perHost = keyed(
	({ key }) => key ?? 'unknown',
	(host) => circuitBreaker({ name: host, failureThreshold: 3, resetTimeoutMs: 10_000 }),
)
const api = pipeline({ name: 'api', runtime }, perHost, retry({ maxRetries: 1 }))

api.subscribe((event) => {
	if (event.type === 'state_change') console.log(`${event.emitter}: ${event.from} -> ${event.to}`)
})

const requests = new Map<string, number>()

async function load(host: string): Promise<string> {
	requests.set(host, (requests.get(host) ?? 0) + 1)
	if (host === 'b.example.com') throw new HttpError(503)
	return `hello from ${host}`
}

let rejected = 0
for (let round = 0; round < 10; round++) {
	for (const key of ['a.example.com', 'b.example.com', 'c.example.com']) {
		const settling = api.settle(() => load(key), { key })
		await runtime.runUntilIdle()
		const result = await settling
		if (!result.ok && result.error instanceof CircuitOpenError) rejected++
	}
}

for (const [host, breaker] of perHost.entries())
	console.log(`${host}: ${requests.get(host)} requests, circuit ${breaker.currentState}`)
console.log(`${rejected} calls rejected without a request`)
