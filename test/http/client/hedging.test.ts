import { describe, expect, it } from 'vitest'
import { explain, type YaokiEvent } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { answer, deferred, drip, hang, reset, type Step } from '../faults/fault-server.ts'
import type { Script } from '../faults/script.ts'
import { FETCHES, failure, type SetupOptions, setup, textOf, virtualTime } from './setup.ts'

const fine = answer({ body: 'fine' })
const broken = answer({ status: 500, body: 'broken' })

const hedged = (
	fetch: typeof globalThis.fetch | undefined,
	script: Script<Step>,
	options: SetupOptions = {},
) => setup(fetch, script, { hedge: { delayMs: 50 }, ...options })

const hedgesIn = (events: readonly YaokiEvent[]) =>
	events.filter((event) => event.type === 'hedge').map(({ outcome, hedge }) => `${outcome} ${hedge}`)

describe.each(FETCHES)('a hedge over %s', (_, fetch) => {
	it('wins against a slow request, which is aborted', async () => {
		const { client, server, clock, events } = await hedged(fetch, [hang(), fine])
		const answered = client.get(server.url())
		await server.requested(1)
		await clock.advance(49)
		expect(client.stats.attempts).toBe(1)
		await clock.advance(1)
		const response = await answered
		expect(await response.text()).toBe('fine')
		await server.aborted(1)
		expect(hedgesIn(events)).toEqual(['sent 1', 'won 1'])
		expect(client.stats).toMatchObject({ requests: 1, failures: 0, attempts: 2 })
		expect(explain(response)).toMatchObject({ name: 'http', stop: 'success' })
		expect(clock.pendingTimers).toBe(0)
	})

	it('is not sent if the first request is fast enough', async () => {
		const { client, server, clock, events } = await hedged(fetch, fine)
		expect(await textOf(client.get(server.url()))).toBe('fine')
		await clock.advance(1_000)
		expect(server.requests).toHaveLength(1)
		expect(hedgesIn(events)).toEqual([])
	})

	it('is aborted if the first request completes after all', async () => {
		const slow = deferred()
		const first = answer({ body: 'first', after: slow.promise })
		const { client, server, clock, events } = await hedged(fetch, [first, hang()])
		const answered = client.get(server.url())
		await server.requested(1)
		await clock.advance(50)
		await server.requested(2)
		slow.resolve()
		expect(await textOf(answered)).toBe('first')
		await server.aborted(2)
		expect(hedgesIn(events)).toEqual(['sent 1'])
		expect(client.stats.origins[server.origin]?.inFlight).toBe(0)
	})

	it('a hedge that won has its whole body, though the other request was aborted before', async () => {
		const done = deferred()
		const { client, server, clock } = await hedged(fetch, [hang(), drip({ stop: done.promise })])
		const answered = client.get(server.url())
		await server.requested(1)
		await clock.advance(50)
		const response = await answered
		await server.aborted(1)
		const text = response.text()
		const before = server.requests[1]?.bytesWritten ?? 0
		await server.until('more of the body', () => (server.requests[1]?.bytesWritten ?? 0) > before + 20)
		done.resolve()
		expect(await text).toMatch(/^x{4,}$/)
	})

	it('leaves no connections after many wins', async () => {
		const { client, server, clock } = await hedged(fetch, ({ n }) =>
			n % 2 ? hang() : answer({ headers: { connection: 'close' } }),
		)
		for (let n = 1; n <= 10; n++) {
			const answered = client.get(server.url())
			await server.requested(2 * n - 1)
			await clock.advance(50)
			await textOf(answered)
		}
		await server.allClosed()
		expect(server.abortedCount).toBe(10)
		expect(client.stats.origins[server.origin]).toMatchObject({ inFlight: 0, bulkhead: { concurrent: 0 } })
	})

	it.each(['GET', 'HEAD', 'OPTIONS'])('is sent for %s', async (method) => {
		const { client, server, clock } = await hedged(fetch, [hang(), fine])
		const answered = client.request(server.url(), { method })
		await server.requested(1)
		await clock.advance(50)
		expect((await answered).status).toBe(200)
		expect(server.requests.map((request) => request.method)).toEqual([method, method])
	})

	it.each(['POST', 'PATCH', 'PUT', 'DELETE'])('is never sent for %s, not even with a key', async (method) => {
		const slow = deferred()
		const script = answer({ body: 'slow', after: slow.promise })
		const { client, server, clock } = await hedged(fetch, script, { idempotency: 'auto' })
		const answered = textOf(client.request(server.url(), { method, yaoki: { idempotencyKey: 'k7' } }))
		await server.requested(1)
		await clock.advance(5_000)
		expect(client.stats.attempts).toBe(1)
		slow.resolve()
		expect(await answered).toBe('slow')
	})

	it('is not sent for a GET with idempotent: false', async () => {
		const slow = deferred()
		const { client, server, clock } = await hedged(fetch, answer({ after: slow.promise }))
		const answered = client.get(server.url(), { yaoki: { idempotent: false } })
		await server.requested(1)
		await clock.advance(5_000)
		expect(client.stats.attempts).toBe(1)
		slow.resolve()
		await answered
	})

	it('shares the budget of the retries', async () => {
		const budget = { maxRetryRatio: 0, minRetriesPerSecond: 0.1, windowMs: 10_000 }
		const held = deferred()
		const slow = answer({ body: 'slow', after: held.promise })
		const { client, server, clock, events } = await hedged(fetch, [hang(), fine, slow], { budget })
		const first = textOf(client.get(server.url()))
		await server.requested(1)
		await clock.advance(50)
		expect(await first).toBe('fine')
		expect(client.stats.origins[server.origin]?.retriesAvailable).toBe(0)
		const second = textOf(client.get(server.url()))
		await server.requested(3)
		await clock.advance(50)
		held.resolve()
		expect(await second).toBe('slow')
		expect(hedgesIn(events)).toEqual(['sent 1', 'won 1', 'no-budget 1'])
		expect(server.requests).toHaveLength(3)
	})

	it('replaces a first request that fails while it is in flight', async () => {
		const cut = deferred()
		const held = deferred()
		const script = [
			reset('request-head', { after: cut.promise }),
			answer({ body: 'fine', after: held.promise }),
		] as const
		const { client, server, clock, waits } = await hedged(fetch, script)
		const answered = client.get(server.url())
		await server.requested(1)
		await clock.advance(50)
		await server.requested(2)
		cut.resolve()
		await server.done(1)
		held.resolve()
		expect(await textOf(answered)).toBe('fine')
		expect(waits).toEqual([])
		expect(client.stats.origins[server.origin]?.circuit).toMatchObject({ failureCount: 0, successCount: 1 })
	})

	it('a hedge that fails too is one failed attempt, which is retried, and one call for the breaker', async () => {
		const held = deferred()
		const first = answer({ status: 500, body: 'x'.repeat(1_000), after: held.promise })
		const { client, server, clock, waits, events } = await hedged(fetch, [first, broken, fine])
		const answered = client.get(server.url())
		await server.requested(1)
		await clock.advance(50)
		await server.done(2)
		held.resolve()
		const response = await answered
		expect(await response.text()).toBe('fine')
		expect(waits).toEqual([100])
		expect(hedgesIn(events)).toEqual(['sent 1'])
		expect(explain(response)?.attempts.map(({ errorMessage }) => errorMessage)).toEqual([
			'HTTP 500',
			undefined,
		])
		expect(client.stats.origins[server.origin]?.circuit).toMatchObject({ failureCount: 0, successCount: 1 })
		expect(client.stats).toMatchObject({ requests: 1, attempts: 3 })
	})

	it('is sent for each attempt, and all failures count once for the breaker', async () => {
		const options = { maxRetries: 1, circuitBreaker: { failureThreshold: 2 } }
		const { client, server, clock } = await hedged(fetch, hang(), { ...options, timeout: 1_000 })
		const failed = failure(client.get(server.url()))
		await server.requested(1)
		await clock.advance(50)
		await server.requested(2)
		// Each has its own timeout: the second request was sent later.
		await clock.advance(950)
		await server.aborted(1)
		await clock.advance(50)
		await server.requested(3)
		await clock.advance(50)
		await server.requested(4)
		await clock.advance(1_000)
		expect(await failed).toMatchObject({ code: 'YAOKI_TIMEOUT', timeoutMs: 1_000 })
		await server.until('the end of all', () => server.abortedCount === 4)
		expect(client.stats.origins[server.origin]?.circuit).toMatchObject({ state: 'closed', failureCount: 1 })
		expect(client.stats.origins[server.origin]?.inFlight).toBe(0)
	})

	it("ends with the caller's abort, like the first request", async () => {
		const { client, server, clock } = await hedged(fetch, hang())
		const abort = new AbortController()
		const failed = failure(client.get(server.url(), { signal: abort.signal }))
		await server.requested(1)
		await clock.advance(50)
		await server.requested(2)
		abort.abort('home')
		expect(await failed).toBe('home')
		await server.until('the end of both', () => server.abortedCount === 2)
		expect(clock.pendingTimers).toBe(0)
	})

	it('is sent after the live p95 by default, and not before that is known', async () => {
		const { client, server, clock } = await hedged(fetch, fine, { hedge: true })
		for (let n = 1; n <= 20; n++) {
			const held = deferred()
			server.play(answer({ after: held.promise }))
			const answered = client.get(server.url())
			await server.requested(n)
			await clock.advance(100)
			held.resolve()
			await textOf(answered)
		}
		expect(server.requests).toHaveLength(20)
		server.play([hang(), fine])
		const answered = textOf(client.get(server.url()))
		await server.requested(21)
		await clock.advance(90)
		expect(client.stats.attempts).toBe(21)
		await clock.advance(20)
		expect(await answered).toBe('fine')
	})
})

describe('a hedge over a fetch that ignores aborts', () => {
	it('drains the late response of the loser', async () => {
		const { clock, runtime } = virtualTime()
		const late = deferred()
		const loser = new Response('late')
		const answers = [late.promise.then(() => loser), Promise.resolve(new Response('fine'))]
		const fetch = () => answers.shift() ?? Promise.reject(new Error('a third request'))
		const client = new ResilientHttpClient({ fetch, runtime, hedge: { delayMs: 50 } })
		const answered = client.get('http://a.example.com/')
		await clock.advance(50)
		expect(await textOf(answered)).toBe('fine')
		late.resolve()
		await clock.advance(0)
		expect(loser.bodyUsed).toBe(true)
		expect(client.stats.origins['http://a.example.com']?.inFlight).toBe(0)
	})
})
