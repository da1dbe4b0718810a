import { describe, expect, it } from 'vitest'
import { CircuitOpenError, explain } from 'yaoki'
import { isCachedResponse } from 'yaoki/http'
import { answer, fin, type Step } from '../faults/fault-server.ts'
import { FETCHES, failure, type Setup, type SetupOptions, setup, textOf } from './setup.ts'

const rates = answer({ headers: { 'content-type': 'text/plain', 'x-version': '7' }, body: 'rates of today' })
const broken = answer({ status: 500, body: 'broken' })

const caching: SetupOptions = {
	maxRetries: 0,
	circuitBreaker: { failureThreshold: 2, resetBackoff: false },
	cache: true,
}

/** A client that has requested `/rates` once, and whatever `ask` requests, and whose circuit is open now. */
async function opened(
	fetch: typeof globalThis.fetch | undefined,
	ask: (setup: Setup) => Promise<unknown> = async ({ client, server }) =>
		textOf(client.get(server.url('/rates'))),
	{ step = rates, ...options }: SetupOptions & { step?: Step } = {},
): Promise<Setup> {
	const all = await setup(fetch, step, { ...caching, ...options })
	await ask(all)
	all.server.play(broken)
	for (let n = 0; n < 2; n++) await failure(all.client.get(all.server.url('/broken')))
	return all
}

const isOpen = async (request: Promise<Response>) => (await failure(request)) instanceof CircuitOpenError

describe.each(FETCHES)('the cache over %s', (_, fetch) => {
	it('returns marked responses while the circuit is open', async () => {
		const { client, server, clock } = await opened(fetch)
		await clock.advance(4_200)
		const response = await client.get(server.url('/rates'))
		expect(isCachedResponse(response)).toBe(true)
		expect(response).toMatchObject({ status: 200, ok: true, url: server.url('/rates'), redirected: false })
		expect(Object.fromEntries(response.headers)).toMatchObject({
			'content-type': 'text/plain',
			'x-version': '7',
			age: '4',
			'cache-status': 'yaoki; hit; detail=circuit-open',
		})
		expect(await response.text()).toBe('rates of today')
		expect(server.requests).toHaveLength(3)
	})

	it('returns the whole body each time, also the first, fresh one', async () => {
		const { client, server } = await opened(fetch, async ({ client, server }) => {
			const fresh = await client.get(server.url('/rates'))
			expect(isCachedResponse(fresh)).toBe(false)
			expect(fresh.headers.get('cache-status')).toBeNull()
			expect(await fresh.text()).toBe('rates of today')
		})
		const one = await client.get(server.url('/rates'))
		const bytes = new Uint8Array(await one.arrayBuffer())
		expect(new TextDecoder().decode(bytes)).toBe('rates of today')
		// Changes by one caller are not visible to the next.
		bytes.fill(0)
		expect(await textOf(client.get(server.url('/rates#fragment')))).toBe('rates of today')
		const both = [1, 2].map(() => textOf(client.get(server.url('/rates'))))
		expect(await Promise.all(both)).toEqual(['rates of today', 'rates of today'])
	})

	it('is reported in stats, in explain and in an event', async () => {
		const { client, server, events } = await opened(fetch)
		const before = client.stats
		const response = await client.get(server.url('/rates'), { yaoki: { name: 'rates' } })
		await failure(client.get(server.url('/unknown')))
		expect(client.stats.cache).toMatchObject({ entries: 1, hits: 1, misses: 1 })
		expect(client.stats).toMatchObject({
			requests: before.requests + 2,
			failures: before.failures + 1,
			attempts: before.attempts,
		})
		expect(explain(response)).toMatchObject({
			name: 'rates',
			stop: 'fallback',
			attempts: [{ outcome: 'cancelled', errorType: 'CircuitOpenError' }],
		})
		const fallbacks = events.filter(({ type }) => type === 'fallback')
		expect(fallbacks).toMatchObject([
			{ emitter: 'cache', call: 'rates', key: server.origin, errorType: 'CircuitOpenError' },
		])
	})

	it('does not change what explain says about a fresh response, and leaves no timer', async () => {
		const { client, server, clock } = await setup(fetch, [broken, rates], { ...caching, maxRetries: 1 })
		const response = await client.get(server.url('/rates'))
		expect(explain(response)).toMatchObject({ stop: 'success', attempts: [{ outcome: 'transient' }, {}] })
		expect(response.url).toBe(server.url('/rates'))
		await response.text()
		expect(clock.pendingTimers).toBe(0)
	})

	it('is not used while the circuit is closed', async () => {
		const { client, server } = await setup(fetch, rates, caching)
		await textOf(client.get(server.url('/rates')))
		server.play([broken, fin('request-head'), rates])
		expect(await failure(client.get(server.url('/rates')))).toMatchObject({ statusCode: 500 })
		const cut = await failure(client.get(server.url('/rates')))
		expect(cut).not.toBeInstanceOf(CircuitOpenError)
		expect(client.stats.cache).toMatchObject({ hits: 0, misses: 0 })
	})

	it('is not used after the server has recovered', async () => {
		const { client, server, clock } = await opened(fetch)
		server.play(answer({ body: 'rates of tomorrow' }))
		expect(await textOf(client.get(server.url('/rates')))).toBe('rates of today')
		await clock.advance(30_000)
		const response = await client.get(server.url('/rates'))
		expect(isCachedResponse(response)).toBe(false)
		expect(await response.text()).toBe('rates of tomorrow')
		// And this is the last successful response from now on.
		client.circuitBreaker(server.origin)?.isolate()
		expect(await textOf(client.get(server.url('/rates')))).toBe('rates of tomorrow')
	})

	it.each(['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
		'neither stores nor returns a response to %s',
		async (method) => {
			const { client, server } = await opened(fetch, ({ client, server }) =>
				client.request(server.url('/rates'), { method }),
			)
			expect(client.stats.cache?.entries).toBe(0)
			expect(await isOpen(client.request(server.url('/rates'), { method }))).toBe(true)
			expect(await isOpen(client.get(server.url('/rates')))).toBe(true)
		},
	)

	it('never uses the response to a GET for a HEAD or POST', async () => {
		const { client, server } = await opened(fetch)
		for (const method of ['HEAD', 'POST'])
			expect(await isOpen(client.request(server.url('/rates'), { method }))).toBe(true)
		expect(await textOf(client.get(server.url('/rates')))).toBe('rates of today')
	})

	it('removes the entry after a write to its URL', async () => {
		const { client, server } = await opened(fetch, async ({ client, server }) => {
			await client.get(server.url('/rates'))
			await client.put(server.url('/rates'), { body: 'new' })
		})
		expect(await isOpen(client.get(server.url('/rates')))).toBe(true)
	})

	it.each([
		['an error', answer({ status: 404, body: 'none' })],
		['what must not be stored', answer({ headers: { 'cache-control': 'private, no-store' }, body: 'x' })],
		['what sets a cookie', answer({ headers: { 'set-cookie': 'session=1' }, body: 'x' })],
		['what varies by all', answer({ headers: { vary: '*' }, body: 'x' })],
	])('does not store %s', async (_what, step) => {
		const ask = async ({ client, server }: Setup) => textOf(client.get(server.url('/rates'))).catch(() => {})
		const { client, server } = await opened(fetch, ask, { step })
		expect(await isOpen(client.get(server.url('/rates')))).toBe(true)
		expect(client.stats.cache).toMatchObject({ entries: 0, bytes: 0 })
	})

	it('stores no broken body, and retries the request', async () => {
		const { client, server } = await setup(fetch, [fin('body'), rates], { ...caching, maxRetries: 1 })
		expect(await textOf(client.get(server.url('/rates')))).toBe('rates of today')
		expect(server.requests).toHaveLength(2)
		expect(client.stats.cache?.entries).toBe(1)
	})

	it('passes a body above the limit through and does not store it', async () => {
		const large = answer({ headers: { 'transfer-encoding': 'chunked' }, body: 'x'.repeat(200_000) })
		const { client, server } = await setup(fetch, large, { ...caching, cache: { maxBodyBytes: 1_000 } })
		expect(await textOf(client.get(server.url('/large')))).toHaveLength(200_000)
		expect(client.stats.cache).toMatchObject({ entries: 0, bytes: 0 })
	})

	it("is not used after the caller's abort", async () => {
		const { client, server } = await opened(fetch)
		const reason = new Error('the user went home')
		const error = await failure(client.get(server.url('/rates'), { signal: AbortSignal.abort(reason) }))
		expect(error).toBe(reason)
		expect(client.stats.cache?.hits).toBe(0)
	})

	it('is not used for a request with no-cache or no-store', async () => {
		const { client, server } = await opened(fetch)
		for (const control of ['no-cache', 'no-store'])
			expect(await isOpen(client.get(server.url('/rates'), { headers: { 'cache-control': control } }))).toBe(
				true,
			)
	})

	it('removes expired entries, and everything with clearCache', async () => {
		const options = { cache: { maxAgeMs: 20_000 } }
		const { client, server, clock } = await opened(fetch, undefined, options)
		await clock.advance(20_000)
		expect(await textOf(client.get(server.url('/rates')))).toBe('rates of today')
		client.clearCache()
		expect(await isOpen(client.get(server.url('/rates')))).toBe(true)
		const again = await opened(fetch, undefined, options)
		await again.clock.advance(20_001)
		expect(await isOpen(again.client.get(again.server.url('/rates')))).toBe(true)
		expect(again.client.stats.cache?.entries).toBe(0)
	})

	it('is also used while the origin is isolated', async () => {
		const { client, server } = await setup(fetch, rates, caching)
		await textOf(client.get(server.url('/rates')))
		const release = client.circuitBreaker(server.origin)?.isolate()
		expect(isCachedResponse(await client.get(server.url('/rates')))).toBe(true)
		release?.()
		expect(isCachedResponse(await client.get(server.url('/rates')))).toBe(false)
	})

	it('is off by default', async () => {
		const { client, server } = await opened(fetch, undefined, { cache: false })
		expect(await isOpen(client.get(server.url('/rates')))).toBe(true)
		expect(client.stats.cache).toBeUndefined()
		client.clearCache()
	})
})
