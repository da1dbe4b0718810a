import { describe, expect, test } from 'vitest'
import { answer, type Step, startFaultServer } from '../../faults/fault-server.ts'
import type { Script } from '../../faults/script.ts'
import { failure, type SetupOptions, setup } from './setup.ts'

const FINE = answer({ body: 'fine' })

/** An instance for a server whose `/go` redirects to another one. */
async function between(script: Script<Step>, options: SetupOptions = {}, status = 307) {
	const other = await startFaultServer(script)
	const headers = { location: other.url('/there') }
	const { api, server } = await setup({ '/go': answer({ status, headers }), '/': FINE }, options)
	return { api, server, other, [Symbol.asyncDispose]: () => other.close() }
}

describe('a redirect to another origin through axios', () => {
	test('a redirect to another origin through axios that responds with Retry-After does not pause the first origin', async () => {
		const busy = answer({ status: 429, headers: { 'retry-after': '3600' } })
		await using two = await between(busy, { maxRetries: 0 })
		expect(await failure(two.api.get('/go'))).toMatchObject({ response: { status: 429 } })
		expect((await two.api.get('/')).data).toBe('fine')
	})

	test('a redirect to another origin through axios that fails does not open the circuit of the first origin', async () => {
		const options = { maxRetries: 0, circuitBreaker: { failureThreshold: 2 } }
		await using two = await between(answer({ status: 500 }), options)
		for (let n = 0; n < 3; n++) await failure(two.api.get('/go'))
		expect((await two.api.get('/')).data).toBe('fine')
		expect(two.other.requests.length).toBe(2)
		expect(await failure(two.api.get('/go'))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
	})

	test('does not carry API keys and idempotency keys, unless beforeRedirect adds them', async () => {
		const seen: string[] = []
		await using two = await between(FINE)
		const headers = { 'X-Api-Key': 'secret', 'Idempotency-Key': 'k', 'x-trace': '7' }
		const beforeRedirect = (options: { href?: string; headers?: Record<string, string> }) => {
			seen.push(options.href ?? '')
			if (options.headers) options.headers['x-added'] = 'yes'
		}
		await two.api.post('/go', 'tea', { headers, beforeRedirect })
		const there = two.other.requests[0]?.headers
		expect(there).toMatchObject({ 'x-trace': '7', 'x-added': 'yes' })
		expect(there).not.toHaveProperty('x-api-key')
		expect(there).not.toHaveProperty('idempotency-key')
		expect(seen).toEqual([two.other.url('/there')])
	})

	test('loses the idempotency key, so an order that fails there is not sent again', async () => {
		await using two = await between(answer({ status: 503 }))
		await failure(two.api.post('/go', 'tea', { headers: { 'Idempotency-Key': 'k' } }))
		expect(two.other.requests.length).toBe(1)
	})
})
