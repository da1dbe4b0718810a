import { describe, expect, it } from 'vitest'
import { CircuitOpenError, type YaokiEvent } from 'yaoki'
import { type HttpClientOptions, type RequestHead, ResilientHttpClient, resilientFetch } from 'yaoki/http'
import { failure, virtualTime } from './setup.ts'

const A = 'https://a.example.com'
const B = 'https://b.example.com'

/** The first part of the path. */
const circuitBreakerKey = ({ url }: RequestHead) => new URL(url).pathname.split('/')[1] ?? ''

/** A client of servers on which everything below /broken fails. */
function clientOf(options: HttpClientOptions = {}) {
	const { runtime, clock } = virtualTime()
	const events: YaokiEvent[] = []
	const fetch = async (url: unknown) =>
		new Response('', { status: String(url).includes('/broken') ? 500 : 200 })
	const client = new ResilientHttpClient({
		fetch,
		runtime,
		circuitBreakerKey,
		maxRetries: 0,
		circuitBreaker: { failureThreshold: 2 },
		onEvent: (event) => events.push(event),
		...options,
	})
	const breakRoute = async (origin: string) => {
		for (let n = 0; n < 2; n++) await failure(client.get(`${origin}/broken/${n}`))
	}
	return { client, clock, events, breakRoute }
}

describe('circuitBreakerKey', () => {
	it('opens the circuit of one route and leaves the other routes and origins alone', async () => {
		const { client, breakRoute } = clientOf()
		await breakRoute(A)
		expect(await failure(client.get(`${A}/broken/7`))).toMatchObject({
			name: 'CircuitOpenError',
			policy: `${A} broken`,
		})
		expect((await client.get(`${A}/fine/7`)).status).toBe(200)
		expect((await client.get(A)).status).toBe(200)
		expect(await failure(client.get(`${B}/broken`))).toMatchObject({ statusCode: 500 })
	})

	it('is shown in events and in stats', async () => {
		const { client, events, breakRoute } = clientOf()
		await breakRoute(A)
		await failure(client.get(`${A}/broken`))
		expect(new Set(events.map(({ key }) => key))).toEqual(new Set([`${A} broken`]))
		expect(events.filter(({ type }) => type === 'state_change')).toHaveLength(1)
		const { origins } = client.stats
		expect(origins[`${A} broken`]?.circuit).toMatchObject({ state: 'open', rejectedCount: 1 })
		expect(origins[A]?.circuit).toMatchObject({ state: 'closed', failureCount: 0 })
	})

	it('finds a breaker by origin and key, also before the first request', async () => {
		const { client, breakRoute } = clientOf()
		const release = client.circuitBreaker(`${A}/any/path`, 'reports')?.isolate()
		expect(await failure(client.get(`${A}/reports/7`))).toBeInstanceOf(CircuitOpenError)
		expect((await client.get(`${A}/users`)).status).toBe(200)
		release?.()
		expect((await client.get(`${A}/reports/7`)).status).toBe(200)
		await breakRoute(A)
		expect(client.circuitBreaker(A, 'broken')?.currentState).toBe('open')
		expect(client.circuitBreaker(A)?.currentState).toBe('closed')
	})

	it('leaves bulkhead and pauses to the origin, whose events are emitted once', async () => {
		const pending = Promise.withResolvers<Response>()
		const { client, events } = clientOf({
			fetch: () => pending.promise,
			bulkhead: { maxConcurrent: 1, maxQueue: 0 },
		})
		const first = client.get(`${A}/one`)
		const other = client.get(`${A}/two`)
		await expect(other).rejects.toMatchObject({ name: 'BulkheadRejectedError', policy: A })
		expect(events.filter(({ type }) => type === 'rejected')).toMatchObject([{ key: `${A} two` }])
		pending.resolve(new Response('', { status: 429, headers: { 'retry-after': '7' } }))
		await failure(first)
		expect(client.stats.origins[`${A} two`]).toMatchObject({ pausedForMs: 7_000 })
		expect(client.stats.origins[A]?.pausedForMs).toBe(7_000)
	})

	it('leaves the retry budget to the origin', async () => {
		const { client } = clientOf({ budget: { maxRetryRatio: 0, minRetriesPerSecond: 1 }, maxRetries: 1 })
		const before = client.circuitBreaker(A) && client.stats.origins[A]?.retriesAvailable
		await failure(client.get(`${A}/broken`))
		await client.get(`${A}/fine`)
		const { origins } = client.stats
		expect(origins[A]?.retriesAvailable).toBe((before ?? 0) - 1)
		expect(origins[`${A} fine`]?.retriesAvailable).toBe((before ?? 0) - 1)
	})

	it('keeps at most maxOrigins keys, and the origin longer than its keys', async () => {
		const { client } = clientOf({ maxOrigins: 10 })
		for (let n = 0; n < 100; n++) await client.get(`${A}/route${n}/`)
		const keys = Object.keys(client.stats.origins)
		expect(keys).toHaveLength(10)
		expect(keys[0]).toBe(A)
		expect(keys).toContain(`${A} route99`)
	})

	it('receives method, URL and headers', async () => {
		const seen: unknown[] = []
		const key = ({ method, url, headers }: RequestHead) => {
			seen.push([method, url, headers.get('x-route')])
			return ''
		}
		const { client } = clientOf({ circuitBreakerKey: key })
		await client.post(`${A}/?q=1`, { headers: { 'X-Route': 'r' } })
		expect(seen).toEqual([['POST', `${A}/?q=1`, 'r']])
		expect(Object.keys(client.stats.origins)).toEqual([A])
	})

	it.each([undefined, 7, Promise.resolve('key')])('rejects the request if it returns %s', async (key) => {
		const given: unknown = () => key
		const { client } = clientOf({ circuitBreakerKey: given as () => string })
		expect(await failure(client.get(A))).toMatchObject({
			code: 'YAOKI_INVALID_OPTION',
			optionPath: 'circuitBreakerKey(request)',
		})
		expect(client.stats).toMatchObject({ requests: 0, origins: {} })
	})

	it('works for resilientFetch', async () => {
		const fetch = resilientFetch({
			fetch: async (url) => new Response('', { status: String(url).includes('broken') ? 500 : 200 }),
			circuitBreakerKey,
			maxRetries: 0,
			circuitBreaker: { failureThreshold: 1 },
		})
		expect((await fetch(`${A}/broken`)).status).toBe(500)
		expect(await failure(fetch(`${A}/broken`))).toBeInstanceOf(CircuitOpenError)
		expect((await fetch(`${A}/fine`)).status).toBe(200)
	})
})
