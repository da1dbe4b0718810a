import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RateLimitedError } from 'yaoki'
import { type HttpClientOptions, ResilientHttpClient } from 'yaoki/http'
import { failure, virtualTime } from './setup.ts'

const ORIGIN = 'http://a.example.com'

interface Failed {
	readonly status?: number
	readonly seconds: string
}

/** A client of a server whose broken routes (`POST /orders`) ask for a pause. Waits last until the test advances the clock. */
function clientOf(broken: Record<string, Failed>, options: HttpClientOptions = {}) {
	const { clock, runtime, waits } = virtualTime({ areWaitsHeld: true })
	const sent: string[] = []
	const fetch = async (input: unknown, init?: RequestInit) => {
		const route = `${init?.method ?? 'GET'} ${new URL(String(input)).pathname}`
		sent.push(route)
		const failed = broken[route]
		if (!failed) return new Response('fine')
		return new Response('', { status: failed.status ?? 503, headers: { 'retry-after': failed.seconds } })
	}
	const client = new ResilientHttpClient({ fetch, runtime, maxRetries: 0, circuitBreaker: false, ...options })
	const request = (route: string, totalTimeoutMs = 1_000) => {
		const [method = '', path = ''] = route.split(' ')
		return client.request(ORIGIN + path, { method, yaoki: { totalTimeoutMs } })
	}
	/** The status, or the name of the error of a call that has no time to wait. */
	const outcome = (route: string) =>
		request(route, 1).then(
			({ status }) => status,
			(error: Error) => ('statusCode' in error ? error.statusCode : error.name),
		)
	return { client, clock, sent, waits, request, outcome }
}

describe('a 5xx with Retry-After', () => {
	it('does not delay other paths (regression: GET /health waited for the pause of POST /orders)', async () => {
		const { outcome, client } = clientOf({ 'POST /orders': { seconds: '20' } })
		expect(await outcome('POST /orders')).toBe(503)
		expect(await outcome('GET /health')).toBe(200)
		expect(client.stats.origins[ORIGIN]?.pausedForMs).toBe(0)
	})

	it.each([500, 502, 503])(
		'a Retry-After of a %i pauses requests with the same method and path',
		async (status) => {
			const { outcome, sent, clock } = clientOf({ 'POST /orders': { status, seconds: '20' } })
			expect(await outcome('POST /orders')).toBe(status)
			expect(await outcome('POST /orders?page=2')).toBe('RateLimitedError')
			expect(await outcome('GET /orders')).toBe(200)
			expect(await outcome('POST /orders/items')).toBe(200)
			await clock.advance(20_000)
			expect(await outcome('POST /orders')).toBe(status)
			expect(sent.filter((route) => route === 'POST /orders')).toHaveLength(2)
		},
	)

	it.each([
		['/orders/17', '/orders/18', true],
		['/orders/17/items', '/orders/18/items', true],
		['/orders/0f8fad5b-d9cb-469f-a165-70867728950e', '/orders/7c9e6679-7425-40de-944b-e07fc1f90ae7', true],
		['/users/cus_1A2b', '/users/cus_9Z8y', true],
		['/v1/orders', '/v2/orders', false],
		['/oauth2/token', '/oauth/token', false],
		['/orders/17', '/orders', false],
	])(
		'a Retry-After of %s pauses %s: %s, because an id is not part of the route',
		async (first, second, isPaused) => {
			const { outcome } = clientOf({ [`GET ${first}`]: { seconds: '20' } })
			await outcome(`GET ${first}`)
			expect(await outcome(`GET ${second}`)).toBe(isPaused ? 'RateLimitedError' : 200)
		},
	)

	it('pauses the origin if two different paths send it within 10 s', async () => {
		const broken = { 'POST /orders': { seconds: '20' }, 'GET /users': { seconds: '30' } }
		const { outcome, client, clock } = clientOf(broken)
		await outcome('POST /orders')
		await clock.advance(10_000)
		await outcome('GET /users')
		expect(client.stats.origins[ORIGIN]?.pausedForMs).toBe(30_000)
		expect(await outcome('GET /health')).toBe('RateLimitedError')
		await clock.advance(30_000)
		expect(await outcome('GET /health')).toBe(200)
	})

	it.each([
		['more than 10 s apart', 'GET /users', 10_001],
		['that differ only in the method', 'PUT /orders', 0],
	])('pauses no other path after two failures %s', async (_, second, gapMs) => {
		const { outcome, clock } = clientOf({ 'POST /orders': { seconds: '20' }, [second]: { seconds: '20' } })
		await outcome('POST /orders')
		await clock.advance(gapMs)
		expect(await outcome(second)).toBe(503)
		expect(await outcome('GET /health')).toBe(200)
	})

	it('delays a call that has time, and its route is free afterwards', async () => {
		const broken: Record<string, Failed> = { 'GET /a': { seconds: '2' } }
		const { outcome, request, clock, waits } = clientOf(broken)
		await outcome('GET /a')
		delete broken['GET /a']
		const waiting = request('GET /a', 10_000)
		await clock.advance(1_999)
		expect(waits).toHaveLength(1)
		await clock.advance(501)
		expect((await waiting).status).toBe(200)
		expect(await outcome('GET /a')).toBe(200)
	})

	it('a Retry-After of an hour is probed after maxPauseMs, and the success of the probe ends it', async () => {
		const broken: Record<string, Failed> = { 'GET /a': { seconds: '3600' } }
		const { outcome, clock } = clientOf(broken, { maxPauseMs: 5_000 })
		await outcome('GET /a')
		expect(await outcome('GET /a')).toBe('RateLimitedError')
		delete broken['GET /a']
		await clock.advance(5_000)
		expect([await outcome('GET /a'), await outcome('GET /a')]).toEqual([200, 200])
	})

	it('keeps the pauses of a bounded number of routes', async () => {
		const names = Array.from({ length: 101 }, (_, n) => `GET /${'x'.repeat(n + 1)}`)
		const broken = Object.fromEntries(names.map((name) => [name, { seconds: '3600' }]))
		const { outcome, clock } = clientOf(broken, { maxPauseMs: Infinity })
		for (const name of names) {
			expect(await outcome(name)).toBe(503)
			await clock.advance(10_001)
		}
		// The oldest is forgotten, and its request is sent.
		expect(await outcome(names.at(-1) ?? '')).toBe('RateLimitedError')
		expect(await outcome(names[1] ?? '')).toBe('RateLimitedError')
		expect(await outcome(names[0] ?? '')).toBe(503)
	})
})

describe('the error of a paused call', () => {
	it('names the status, the time that is left, and the option', async () => {
		const { outcome, request, clock } = clientOf({ 'GET /a': { seconds: '5' } })
		await outcome('GET /a')
		await clock.advance(100)
		const error = await failure(request('GET /a'))
		expect(error).toBeInstanceOf(RateLimitedError)
		expect(error).toMatchObject({ code: 'YAOKI_RATE_LIMITED', policy: ORIGIN, retryAfterMs: 4_900 })
		expect(String(error)).toBe(
			`RateLimitedError: http/${ORIGIN}: paused by the Retry-After of a 503, 4.9 s left (pauseScope sets which requests wait), 1 s left for the call`,
		)
	})

	it('names RateLimit headers, if they are the cause', async () => {
		const { runtime } = virtualTime()
		const headers = { 'ratelimit-remaining': '0', 'ratelimit-reset': '300' }
		const fetch = async () => new Response('', { headers })
		const client = new ResilientHttpClient({ fetch, runtime })
		await client.get(ORIGIN)
		expect(String(await failure(client.get(ORIGIN)))).toContain(
			'paused by RateLimit headers, 300 s left (honorRateLimit: false ignores them)',
		)
	})
})

it('a 429 pauses the origin', async () => {
	const { outcome, client } = clientOf({ 'POST /orders': { status: 429, seconds: '20' } })
	await outcome('POST /orders')
	expect(await outcome('GET /health')).toBe('RateLimitedError')
	expect(client.stats.origins[ORIGIN]?.pausedForMs).toBe(20_000)
})

it("pauseScope: 'origin' pauses the origin after a 5xx too", async () => {
	const { outcome } = clientOf({ 'POST /orders': { seconds: '20' } }, { pauseScope: 'origin' })
	await outcome('POST /orders')
	expect(await outcome('GET /health')).toBe('RateLimitedError')
})

it('an origin with a paused route is not evicted', async () => {
	const { outcome, client } = clientOf({ 'POST /orders': { seconds: '20' } }, { maxOrigins: 1 })
	await outcome('POST /orders')
	for (const name of ['b', 'c']) await client.get(`http://${name}.example.com/`)
	expect(await outcome('POST /orders')).toBe('RateLimitedError')
})

it('for any history, a request is sent exactly if neither its route nor the origin is paused', async () => {
	const routes = ['GET /a', 'POST /a', 'GET /b', 'GET /c/1', 'GET /c/2']
	const step = fc.record({
		route: fc.constantFrom(...routes),
		status: fc.constantFrom(200, 429, 503),
		seconds: fc.integer({ min: 1, max: 30 }),
		gapMs: fc.integer({ min: 0, max: 15_000 }),
	})
	await fc.assert(
		fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
			const broken: Record<string, Failed> = {}
			const { outcome, clock } = clientOf(broken, { maxPauseMs: Infinity })
			const until = new Map<string, number>()
			let last = { path: '', at: Number.NEGATIVE_INFINITY }
			for (const { route, status, seconds, gapMs } of steps) {
				await clock.advance(gapMs)
				const now = clock.now()
				const key = route.replace(/\d/, '*')
				const path = key.split(' ')[1] ?? ''
				broken[route] = { status, seconds: `${seconds}` }
				if (status === 200) delete broken[route]
				const isPaused = now < Math.max(until.get(key) ?? 0, until.get('') ?? 0)
				expect(await outcome(route)).toBe(isPaused ? 'RateLimitedError' : status)
				if (isPaused || status === 200) continue
				const paused = status === 429 ? [''] : [key]
				if (status === 503 && last.path !== path && now - last.at <= 10_000) paused.push('')
				if (status === 503) last = { path, at: now }
				for (const name of paused) until.set(name, Math.max(until.get(name) ?? 0, now + seconds * 1_000))
			}
		}),
		{ numRuns: 200 },
	)
})
