import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { parseServiceConfig } from 'yaoki/grpc'
import { HttpError, resilientFetch } from 'yaoki/http'
import { httpServiceConfig } from '../../../src/grpc/http/http-service-config.ts'
import { failure, serve, textOf, virtualTime } from '../../http/client/setting.ts'
import { answer, hang, refusedUrl, reset } from '../../http/faults/fault-server.ts'
import { configured, failing, fine, forAll, RETRY } from './configured.ts'

describe('a retry policy', () => {
	test('retries the listed failures up to maxAttempts, with the backoff of A6', async () => {
		const { client, server, waits } = await configured(failing(503), forAll({ retryPolicy: RETRY }))
		const error = await failure(client.get('/shop.Orders/Get'))
		expect(error).toMatchObject({ name: 'HttpError', statusCode: 503 })
		expect(server.requests).toHaveLength(3)
		expect(waits).toHaveLength(2)
		for (const [index, wait] of waits.entries()) {
			const backoffMs = 100 * 2 ** index
			expect(wait).toBeGreaterThanOrEqual(0.8 * backoffMs)
			expect(wait).toBeLessThan(1.2 * backoffMs)
		}
	})

	test('retries a POST: the service owner has listed the failures after which that is safe', async () => {
		const { client, server } = await configured([failing(503), fine], forAll({ retryPolicy: RETRY }))
		const response = await client.post('/shop.Orders/Create', { json: { id: 7 } })
		expect(await response.text()).toBe('fine')
		expect(server.requests.map(({ method, body }) => [method, body])).toEqual([
			['POST', '{"id":7}'],
			['POST', '{"id":7}'],
		])
		expect(explain(response)).toMatchObject({ stop: 'success' })
	})

	test('retries the body of a Request, with any maxRetries of the client', async () => {
		const server = await serve([failing(503), fine])
		const { runtime } = virtualTime()
		const config = parseServiceConfig(forAll({ retryPolicy: RETRY }))
		const serviceConfig = httpServiceConfig({ [server.origin]: config })
		const fetch = resilientFetch({ serviceConfig, runtime, maxRetries: 0 })
		const request = new Request(server.url('/shop.Orders/Create'), { method: 'POST', body: 'text' })
		expect(await textOf(fetch(request))).toBe('fine')
		expect(server.requests.map(({ body }) => body)).toEqual(['text', 'text'])
	})

	test('does not retry a request that the caller declares not idempotent', async () => {
		const { client, server } = await configured(failing(503), forAll({ retryPolicy: RETRY }))
		const error = await failure(client.post('/a/b', { body: 'x', yaoki: { idempotent: false } }))
		expect(explain(error)).toMatchObject({ stop: 'not-idempotent' })
		expect(server.requests).toHaveLength(1)
	})

	test('does not retry a body that can be sent only once', async () => {
		const { client, server } = await configured(failing(503), forAll({ retryPolicy: RETRY }))
		const body = new Blob(['once']).stream()
		const error = await failure(client.post('/a/b', { body }))
		expect(explain(error)).toMatchObject({ stop: 'body-used' })
		expect(server.requests).toHaveLength(1)
	})

	test('does not retry other failures, not even those that the client would retry', async () => {
		const { client, server } = await configured(failing(500), forAll({ retryPolicy: RETRY }), {
			maxRetries: 5,
		})
		expect(await failure(client.get('/a/b'))).toBeInstanceOf(HttpError)
		expect(server.requests).toHaveLength(1)
	})

	test('retries failures that are permanent for other clients, if they are listed', async () => {
		const retryPolicy = { ...RETRY, retryableStatusCodes: ['NOT_FOUND'] }
		const { client, server } = await configured([failing(404), fine], forAll({ retryPolicy }))
		expect(await client.get('/a/b').text()).toBe('fine')
		expect(server.requests).toHaveLength(2)
	})

	test('retries network failures as UNAVAILABLE', async () => {
		const { client, server } = await configured([reset('request-head'), fine], forAll({ retryPolicy: RETRY }))
		expect(await client.post('/a/b', { body: 'x' }).text()).toBe('fine')
		expect(server.requests).toHaveLength(2)
	})

	test('retries refused connections as UNAVAILABLE, up to maxAttempts', async () => {
		const url = await refusedUrl()
		const { runtime, waits } = virtualTime()
		const config = parseServiceConfig(forAll({ retryPolicy: RETRY }))
		const serviceConfig = httpServiceConfig({ [new URL(url).origin]: config })
		const fetch = resilientFetch({ serviceConfig, runtime })
		const error = await failure(fetch(url, { method: 'POST', body: 'x' }))
		expect(explain(error)).toMatchObject({ stop: 'retries-exhausted' })
		expect(waits).toHaveLength(2)
	})

	test('retries an attempt that timed out as DEADLINE_EXCEEDED, if that is listed', async () => {
		const retryPolicy = { ...RETRY, retryableStatusCodes: ['DEADLINE_EXCEEDED'] }
		const { client, server, clock } = await configured([hang(), fine], forAll({ retryPolicy }), {
			timeout: 500,
		})
		const answered = client.get('/a/b').text()
		await server.requested(1)
		await clock.advance(500)
		expect(await answered).toBe('fine')
	})

	test('does not retry an attempt that timed out, if only UNAVAILABLE is listed', async () => {
		const { client, server, clock } = await configured(hang(), forAll({ retryPolicy: RETRY }), {
			timeout: 500,
		})
		const failed = failure(client.get('/a/b'))
		await server.requested(1)
		await clock.advance(500)
		expect(await failed).toMatchObject({ code: 'YAOKI_TIMEOUT' })
		expect(server.requests).toHaveLength(1)
	})

	test('waits as long as Retry-After asks', async () => {
		const { client, waits } = await configured(
			[failing(503, { 'retry-after': '7' }), fine],
			forAll({ retryPolicy: RETRY }),
		)
		expect(await client.get('/a/b').text()).toBe('fine')
		expect(waits[0]).toBeGreaterThanOrEqual(7_000)
	})

	test('is not applied to a response that asks not to retry', async () => {
		const { client, server } = await configured(
			failing(503, { 'x-should-retry': 'false' }),
			forAll({ retryPolicy: RETRY }),
		)
		expect(explain(await failure(client.get('/a/b')))).toMatchObject({ stop: 'server-veto' })
		expect(server.requests).toHaveLength(1)
	})

	test('with fewer retries for one request', async () => {
		const { client, server } = await configured(failing(503), forAll({ retryPolicy: RETRY }))
		await failure(client.get('/a/b', { yaoki: { maxRetries: 1 } }))
		expect(server.requests).toHaveLength(2)
	})

	test('drains the failed responses, so that one connection serves all attempts', async () => {
		const broken = answer({ status: 503, body: 'x'.repeat(100) })
		const { client, server } = await configured([broken, broken, fine], forAll({ retryPolicy: RETRY }))
		expect(await client.get('/a/b').text()).toBe('fine')
		expect(new Set(server.requests.map(({ connection }) => connection)).size).toBe(1)
	})
})

describe('without a retry policy', () => {
	test.each([
		{},
		{ methodConfig: [{ name: [{}], timeout: '1s' }] },
		{ methodConfig: [{ name: [{ service: 'other' }], retryPolicy: RETRY }] },
	])('requests are not retried: %j', async (json) => {
		const { client, server } = await configured(failing(503), json, { maxRetries: 3, hedge: { delayMs: 0 } })
		expect(await failure(client.get('/a/b'))).toMatchObject({ statusCode: 503 })
		expect(server.requests).toHaveLength(1)
	})

	test('origins that are not configured keep the settings of the client', async () => {
		const { client, server } = await configured(failing(503), forAll({ timeout: '1s' }), { maxRetries: 2 })
		const other = await serve([failing(503), failing(503), fine])
		expect(await client.get(other.url('/a/b')).text()).toBe('fine')
		await failure(client.get(server.url('/a/b')))
		expect([other.requests.length, server.requests.length]).toEqual([3, 1])
	})
})

describe('what a client shares between all entries of an origin', () => {
	const json = {
		methodConfig: [
			{ name: [{ service: 'a' }], retryPolicy: RETRY },
			{ name: [{ service: 'b' }], timeout: '1s' },
		],
	}

	test('the circuit breaker', async () => {
		const { client, server, events } = await configured(failing(503), json, {
			circuitBreaker: { failureThreshold: 2 },
		})
		await failure(client.get('/a/x'))
		await failure(client.get('/b/x'))
		expect(await failure(client.get('/c/x'))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(client.stats.origins[server.origin]?.circuit).toMatchObject({ state: 'open' })
		expect(Object.keys(client.stats.origins)).toEqual([server.origin])
		expect(events.filter(({ type }) => type === 'state_change')).toHaveLength(1)
		expect(new Set(events.map(({ key }) => key))).toEqual(new Set([server.origin]))
	})

	test('the breaker of a circuitBreakerKey', async () => {
		const { client } = await configured(failing(503), json, {
			circuitBreaker: { failureThreshold: 1 },
			circuitBreakerKey: ({ url }) => new URL(url).pathname.slice(1, 2),
		})
		await failure(client.get('/a/x'))
		expect(await failure(client.get('/a/y'))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(await failure(client.get('/b/y'))).toMatchObject({ statusCode: 503 })
	})

	test('the bulkhead, whose events are emitted once', async () => {
		const { client, server, events } = await configured(hang(), json, {
			bulkhead: { maxConcurrent: 1, maxQueue: 0 },
		})
		const aborting = new AbortController()
		const first = failure(client.get('/a/x', { signal: aborting.signal }))
		await server.requested(1)
		expect(await failure(client.get('/b/x'))).toMatchObject({ code: 'YAOKI_BULKHEAD_REJECTED' })
		expect(events.filter(({ type }) => type === 'rejected')).toHaveLength(1)
		aborting.abort()
		await first
	})

	test('the pause after the Retry-After of a 429', async () => {
		const { client, server, waits, waiting, clock } = await configured(
			[failing(429, { 'retry-after': '5' }), fine],
			json,
			{ areWaitsHeld: true },
		)
		expect(await failure(client.get('/b/x'))).toMatchObject({ statusCode: 429 })
		const paused = client.get('/a/x').text()
		await waiting(1)
		expect(server.requests).toHaveLength(1)
		await clock.advance(waits[0] ?? 0)
		expect(await paused).toBe('fine')
	})
})

test('retries emit the same events as those of the client, also for entries that are used after the subscription', async () => {
	const { client, events } = await configured([failing(503), fine], forAll({ retryPolicy: RETRY }))
	const later: string[] = []
	const unsubscribe = client.subscribe(({ type }) => later.push(type))
	await client.get('/a/b').text()
	const types = events.map(({ type }) => type)
	expect(types).toEqual(later)
	expect(types).toContain('retry_attempt')
	expect(types).toContain('retry_success')
	expect(types).toContain('call')
	unsubscribe()
	await client.get('/a/b').text()
	expect(later).toEqual(types)
})
