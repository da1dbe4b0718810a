/** Regressions: leaked connections, origins and cached responses, and origins that stayed paused. */
import { describe, expect, it } from 'vitest'
import { isCachedResponse, ResilientHttpClient } from 'yaoki/http'
import { FETCHES, failure, setup, textOf, virtualTime } from '../client/setup.ts'
import { answer, deferred, hang } from '../faults/fault-server.ts'

const FINE = answer({ body: 'fine' })

describe.each(FETCHES)('over %s', (_, fetch) => {
	it('a response in flight is not cached if the cache is cleared', async () => {
		const { promise, resolve } = deferred()
		const { client, server } = await setup(fetch, answer({ body: 'of alice', after: promise }), {
			cache: true,
		})
		const asked = client.get(server.url('/me'))
		await server.requested(1)
		client.clearCache()
		resolve()
		expect(await textOf(asked)).toBe('of alice')
		client.circuitBreaker(server.origin)?.isolate()
		expect(await failure(client.get(server.url('/me')))).toMatchObject({ name: 'CircuitOpenError' })
	})

	it('a response that was overtaken by a write is not cached', async () => {
		const { promise, resolve } = deferred()
		const { client, server } = await setup(
			fetch,
			({ method }) => (method === 'PUT' ? FINE : answer({ body: 'old', after: promise })),
			{ cache: true },
		)
		const asked = client.get(server.url())
		await server.requested(1)
		await textOf(client.put(server.url(), { body: 'new' }))
		resolve()
		await textOf(asked)
		client.circuitBreaker(server.origin)?.isolate()
		const refused = await failure(client.get(server.url()))
		expect(isCachedResponse(Object(refused))).toBe(false)
	})

	it.each([
		{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '999999999' },
		{ ratelimit: '"d";r=0;t=999999999999' },
	])('a response with %o does not pause its origin for more than an hour', async (headers) => {
		const { client, server, clock } = await setup(fetch, answer({ headers, body: 'fine' }))
		await textOf(client.get(server.url()))
		expect(await failure(client.get(server.url()))).toMatchObject({ name: 'RateLimitedError' })
		await clock.advance(3_600_000)
		expect(await textOf(client.get(server.url()))).toBe('fine')
	})

	it.each([
		['first', 1],
		['second', 0],
	])('a hedge whose %s request fails leaves no connection', async (which, odd) => {
		const headers = { connection: 'close' }
		const { promise, resolve } = deferred()
		const { client, server, clock } = await setup(
			fetch,
			({ n }) =>
				n % 2 === odd
					? answer({ status: 503, body: 'x'.repeat(500_000), headers })
					: answer({ body: 'fine', headers, after: promise }),
			{ hedge: { delayMs: 50 }, maxRetries: 0, timeout: Infinity, budget: false },
		)
		const asked = textOf(client.get(server.url())).catch(() => which)
		await server.requested(1)
		await clock.advance(50)
		if (which === 'second') await server.requested(2)
		resolve()
		await asked
		await server.allClosed()
		expect(client.stats.origins[server.origin]?.inFlight).toBe(0)
	})

	it('a request that cannot be sent does not keep its origin in use', async () => {
		const { client } = await setup(fetch, FINE, { maxOrigins: 10 })
		for (let n = 1; n <= 50; n++)
			await failure(client.post(`http://host-${n}.example/`, { headers: [['bad']] as never }))
		expect(Object.keys(client.stats.origins).length).toBeLessThanOrEqual(10)
	})

	it('a body that was created too late is closed', async () => {
		const { promise, resolve } = deferred()
		const { client, server, clock } = await setup(fetch, hang(), { timeout: 100, maxRetries: 0 })
		let closed = false
		const late = async () => {
			await promise
			return new ReadableStream<Uint8Array>({
				cancel() {
					closed = true
				},
			})
		}
		const asked = failure(client.put(server.url(), { body: late }))
		for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
		await clock.advance(100)
		expect(await asked).toMatchObject({ name: 'TimeoutError' })
		resolve()
		for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
		expect([closed, server.requests.length]).toEqual([true, 0])
	})
})

it('an origin with a long call is not evicted', async () => {
	const { runtime, clock } = virtualTime({ areWaitsHeld: true })
	const { promise, resolve } = deferred()
	let isSlow = false
	const fetch = async (): Promise<Response> => {
		if (isSlow) await promise
		return new Response('bad', { status: 500 })
	}
	const client = new ResilientHttpClient({
		runtime,
		fetch,
		maxRetries: 0,
		timeout: Infinity,
		totalTimeoutMs: Infinity,
	})
	for (let n = 0; n < 4; n++) await failure(client.get('http://slow.example/'))
	isSlow = true
	const slow = failure(client.get('http://slow.example/'))
	await clock.advance(700_000)
	resolve()
	await slow
	expect(client.stats.origins['http://slow.example']?.circuit?.failureCount).toBeGreaterThan(0)
})

it('a 409 of a request in progress is retried, also if its long Retry-After is ignored', async () => {
	const busy = answer({ status: 409, headers: { 'retry-after': '3600' } })
	const { client, server } = await setup(undefined, [busy, FINE], { longRetryAfter: 'ignore' })
	expect(await textOf(client.post(server.url(), { yaoki: { idempotencyKey: 'k' } }))).toBe('fine')
	expect(server.requests.length).toBe(2)
})
