import { describe, expect, it } from 'vitest'
import { BulkheadRejectedError, CircuitOpenError, explain } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { answer, deferred, refusedUrl, reset } from '../faults/fault-server.ts'
import { type Client, FETCHES, failure, serve, setup, textOf, virtualTime } from './setup.ts'

const fine = answer({ body: 'fine' })
const broken = answer({ status: 500, body: 'broken' })
const eager = { maxRetries: 0, circuitBreaker: { failureThreshold: 2 } } as const

/** Fails often enough to open the circuit of an `eager` client. */
async function open(client: Client, url: string): Promise<void> {
	for (let n = 0; n < 2; n++) await failure(client.get(url))
}

describe.each(FETCHES)('origins over %s', (_, fetch) => {
	it('have separate circuits', async () => {
		const { client, server: down } = await setup(fetch, broken, eager)
		const up = await serve(fine)
		await open(client, down.url())
		const error = await failure(client.get(down.url('/other/path')))
		expect(error).toBeInstanceOf(CircuitOpenError)
		expect(error).toMatchObject({ message: expect.stringContaining(down.origin) })
		expect(explain(error)).toMatchObject({ stop: 'rejected', attempts: [], errorType: 'CircuitOpenError' })
		expect(await textOf(client.get(up.url()))).toBe('fine')
		expect(down.requests).toHaveLength(2)
		expect(client.stats.origins[down.origin]?.circuit).toMatchObject({ state: 'open', rejectedCount: 1 })
		expect(client.stats.origins[up.origin]?.circuit).toMatchObject({ state: 'closed', successCount: 1 })
	})

	it('reject with the failed status as the cause, without the response of another caller', async () => {
		const { client, server } = await setup(fetch, broken, eager)
		await open(client, server.url())
		const { cause } = (await failure(client.get(server.url()))) as CircuitOpenError
		expect(cause).toMatchObject({ name: 'HttpError', statusCode: 500, body: undefined })
		expect(cause).not.toHaveProperty('response')
	})

	it('are distinguished by host and port, not by the spelling of the URL', async () => {
		const { client, server } = await setup(fetch, broken, eager)
		const { origin } = server
		await open(client, `${origin}/a`)
		for (const url of [origin, `${origin}?q=//x/y`, `${origin}/b#c`, origin.replace('http', 'HTTP')])
			expect(await failure(client.get(url))).toBeInstanceOf(CircuitOpenError)
		expect(Object.keys(client.stats.origins)).toEqual([origin])
		expect(await failure(client.get(origin.replace('127.0.0.1', '127.1')))).toBeInstanceOf(CircuitOpenError)
	})

	it('are probed after resetTimeoutMs, and then the circuit closes', async () => {
		const { client, server, clock, events } = await setup(fetch, [broken, broken, fine], eager)
		await open(client, server.url())
		await clock.advance(30_000)
		expect(await textOf(client.get(server.url()))).toBe('fine')
		expect(client.circuitBreaker(server.origin)?.currentState).toBe('half-open')
		expect(await textOf(client.get(server.url()))).toBe('fine')
		expect(client.circuitBreaker(server.origin)?.currentState).toBe('closed')
		const changes = events.filter((event) => event.type === 'state_change')
		expect(changes.map(({ to }) => to)).toEqual(['open', 'half-open', 'closed'])
		expect(new Set(changes.map(({ emitter: policy }) => policy))).toEqual(new Set([server.origin]))
	})

	it('do not count a 4xx or an abort as a failure, but every network error', async () => {
		const { client, server } = await setup(fetch, answer({ status: 404 }), eager)
		for (let n = 0; n < 5; n++) await failure(client.get(server.url()))
		for (let n = 0; n < 5; n++) await failure(client.get(server.url(), { signal: AbortSignal.abort() }))
		expect(client.circuitBreaker(server.origin)?.currentState).toBe('closed')
		server.play(reset('request-head'))
		await open(client, server.url())
		expect(client.circuitBreaker(server.origin)?.currentState).toBe('open')
		const unreachable = await refusedUrl()
		await open(client, unreachable)
		expect(await failure(client.get(unreachable))).toBeInstanceOf(CircuitOpenError)
	})

	it('count a call once, however many attempts it made', async () => {
		const { client, server } = await setup(fetch, broken, { ...eager, maxRetries: 3 })
		await failure(client.get(server.url()))
		expect(server.requests).toHaveLength(4)
		expect(client.stats.origins[server.origin]?.circuit).toMatchObject({ state: 'closed', failureCount: 1 })
	})

	it('can be isolated and reset by an operator', async () => {
		const { client, server } = await setup(fetch, fine, eager)
		await client.get(server.url())
		const release = client.circuitBreaker(server.origin)?.isolate()
		const error = await failure(client.get(server.url()))
		expect(error).toMatchObject({
			code: 'YAOKI_CIRCUIT_OPEN',
			policy: server.origin,
			retryAfterMs: Infinity,
		})
		release?.()
		expect(await textOf(client.get(server.url()))).toBe('fine')
		server.play([broken, broken, fine])
		await open(client, server.url())
		client.circuitBreaker(server.origin)?.reset()
		expect(await textOf(client.get(server.url()))).toBe('fine')
	})

	it('can be isolated before the first request, by any of their URLs', async () => {
		const { client, server } = await setup(fetch, fine, eager)
		const { origin } = server
		const breaker = client.circuitBreaker(origin)
		for (const url of [`${origin}/`, `${origin}/some/path?q=1`, new URL(origin), new URL('/a#b', origin)])
			expect(client.circuitBreaker(url)).toBe(breaker)
		const release = client.circuitBreaker(`${origin}/`)?.isolate()
		expect(await failure(client.get(server.url()))).toBeInstanceOf(CircuitOpenError)
		expect(server.requests).toHaveLength(0)
		release?.()
		expect(await textOf(client.get(server.url()))).toBe('fine')
		expect(Object.keys(client.stats.origins)).toEqual([origin])
	})

	it('have no breaker if breakers are off, and an invalid URL is rejected', () => {
		const client = new ResilientHttpClient({ circuitBreaker: false })
		expect(client.circuitBreaker('https://api.example.com')).toBeUndefined()
		expect(() => client.circuitBreaker('api.example.com')).toThrow("Invalid URL 'api.example.com'")
	})

	it('have separate bulkheads with stats', async () => {
		const held = deferred()
		const slow = answer({ body: 'slow', after: held.promise })
		const { client, server } = await setup(fetch, slow, { bulkhead: { maxConcurrent: 2, maxQueue: 1 } })
		const other = await serve(fine)
		const answers = [1, 2, 3].map(() => textOf(client.get(server.url())))
		await server.requested(2)
		const error = await failure(client.get(server.url()))
		expect(error).toBeInstanceOf(BulkheadRejectedError)
		expect(error).toMatchObject({ message: expect.stringContaining(server.origin) })
		expect(client.stats.origins[server.origin]).toMatchObject({
			bulkhead: { concurrent: 2, queued: 1, maxConcurrent: 2, maxQueue: 1 },
			inFlight: 2,
		})
		expect(await textOf(client.get(other.url()))).toBe('fine')
		held.resolve()
		expect(await Promise.all(answers)).toEqual(['slow', 'slow', 'slow'])
		expect(client.stats.origins[server.origin]).toMatchObject({ bulkhead: { concurrent: 0 }, inFlight: 0 })
		// Rejections by the bulkhead do not count for the breaker.
		expect(client.stats.origins[server.origin]?.circuit?.failureCount).toBe(0)
	})

	it('have no breaker and no bulkhead if these are off', async () => {
		const options = { maxRetries: 0, circuitBreaker: false, bulkhead: false, budget: false } as const
		const { client, server } = await setup(fetch, broken, options)
		for (let n = 0; n < 10; n++)
			expect(await failure(client.get(server.url()))).toMatchObject({ statusCode: 500 })
		expect(client.stats.origins[server.origin]).toEqual({
			circuit: undefined,
			bulkhead: undefined,
			retriesAvailable: undefined,
			pausedForMs: 0,
			inFlight: 0,
		})
		expect(client.circuitBreaker(server.origin)).toBeUndefined()
	})

	it('report how many retries their budgets allow', async () => {
		const budget = { minRetriesPerSecond: 0.2, windowMs: 10_000 }
		const { client, server } = await setup(fetch, broken, { budget, maxRetries: 1 })
		const left = async () => {
			const error = await failure(client.get(server.url()))
			return [client.stats.origins[server.origin]?.retriesAvailable, explain(error)?.stop]
		}
		expect(await left()).toEqual([1, 'retries-exhausted'])
		expect(await left()).toEqual([0, 'retries-exhausted'])
		expect(await left()).toEqual([0, 'budget'])
		expect(client.stats).toMatchObject({ requests: 3, failures: 3, attempts: 5 })
	})
})

describe('ten thousand origins', () => {
	const answerAtOnce = async () => new Response('fine')

	it('are kept up to maxOrigins, the most recently used ones', async () => {
		const { runtime } = virtualTime()
		const client = new ResilientHttpClient({ fetch: answerAtOnce, maxOrigins: 100, runtime })
		for (let n = 0; n < 10_000; n++) await client.get(`https://tenant-${n}.example.com/`)
		const names = Object.keys(client.stats.origins)
		expect(names).toHaveLength(100)
		expect(names.at(-1)).toBe('https://tenant-9999.example.com')
		expect(names).not.toContain('https://tenant-9899.example.com')
		expect(names).toContain('https://tenant-9900.example.com')
		expect(client.stats).toMatchObject({ requests: 10_000, attempts: 10_000, failures: 0 })
	})

	it('are all kept while each has a request in flight, and evicted after', async () => {
		const held = deferred()
		const fetch = async () => {
			await held.promise
			return new Response('fine')
		}
		const { runtime } = virtualTime()
		const client = new ResilientHttpClient({ fetch, maxOrigins: 10, runtime })
		const answers = Array.from({ length: 1_000 }, (_, n) => client.get(`https://tenant-${n}.example.com/`))
		// Requests are sent in the next microtask.
		await undefined
		expect(Object.keys(client.stats.origins)).toHaveLength(1_000)
		held.resolve()
		await Promise.all(answers)
		expect(Object.keys(client.stats.origins)).toHaveLength(10)
	})

	it('ten thousand origins without requests for ten minutes are evicted, but not one in use', async () => {
		const { runtime, clock } = virtualTime()
		const client = new ResilientHttpClient({ fetch: answerAtOnce, runtime })
		await client.get('https://a.example.com/')
		await clock.advance(600_000)
		await client.get('https://b.example.com/')
		expect(Object.keys(client.stats.origins)).toEqual(['https://b.example.com'])
	})
})
