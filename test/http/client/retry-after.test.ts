import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Deadline, explain, RateLimitedError } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { answer } from '../faults/fault-server.ts'
import { FETCHES, failure, serve, setup, textOf, virtualTime } from './setup.ts'

const fine = answer({ body: 'fine' })
const comeBack = (after: string, status = 429, headers = {}) =>
	answer({ status, headers: { 'retry-after': after, ...headers }, body: 'later' })

describe.each(FETCHES)('Retry-After over %s', (_, fetch) => {
	it('is waited for, plus jitter and never less', async () => {
		const { client, server, waits } = await setup(fetch, [comeBack('7'), fine])
		const response = await client.get(server.url())
		expect(await response.text()).toBe('fine')
		expect(waits).toHaveLength(1)
		expect(waits[0]).toBeGreaterThan(7_000)
		expect(waits[0]).toBeLessThanOrEqual(8_750)
		expect(explain(response)?.attempts[0]).toMatchObject({ outcome: 'throttled', delaySource: 'retry-after' })
	})

	it.each([
		[429, 'auto'],
		[503, 'origin'],
		[500, 'origin'],
	] as const)(
		'of a %i pauses the origin for every caller with pauseScope: %j',
		async (status, pauseScope) => {
			const { client, server, clock, waiting } = await setup(fetch, [comeBack('1', status), fine], {
				areWaitsHeld: true,
				pauseScope,
			})
			const first = textOf(client.get(server.url()))
			await waiting(1)
			const others = Array.from({ length: 20 }, () => textOf(client.put(server.url('/other'), { body: 'x' })))
			await waiting(21)
			await clock.advance(999)
			expect(client.stats).toMatchObject({ requests: 21, attempts: 1 })
			expect(client.stats.origins[server.origin]).toMatchObject({ pausedForMs: 1, inFlight: 0 })
			await clock.advance(251)
			expect(client.stats.attempts).toBe(22)
			expect(await Promise.all([first, ...others])).toEqual(Array(21).fill('fine'))
			expect(client.stats.origins[server.origin]?.pausedForMs).toBe(0)
		},
	)

	it.each(['10', '60'])('Retry-After of %s s releases paused callers at different moments', async (asked) => {
		const { client, server, waiting, waits } = await setup(fetch, [comeBack(asked), fine], {
			totalTimeoutMs: Infinity,
			areWaitsHeld: true,
			maxRetries: 0,
		})
		await failure(client.get(server.url()))
		for (let n = 0; n < 20; n++) void client.get(server.url()).catch(() => {})
		await waiting(20)
		expect(new Set(waits.map((ms) => Math.floor(ms / 100))).size).toBeGreaterThan(8)
	})

	it.each([
		['3000', 3_000_000],
		['99999999999', 3_600_000],
	])(
		'of %s s, above maxRetryAfterMs, rejects other calls immediately, for an hour at most',
		async (asked, pausedForMs) => {
			const { client, server, clock } = await setup(fetch, [comeBack(asked), fine], {
				areWaitsHeld: true,
			})
			expect(await failure(client.get(server.url()))).toMatchObject({ retryAfterMs: Number(asked) * 1_000 })
			expect(client.stats.origins[server.origin]?.pausedForMs).toBe(pausedForMs)
			expect(await failure(client.get(server.url()))).toMatchObject({ name: 'RateLimitedError' })
			await clock.advance(pausedForMs)
			expect(await textOf(client.get(server.url()))).toBe('fine')
			expect(client.stats.attempts).toBe(2)
		},
	)

	it('does not affect callers of another origin', async () => {
		const { client, server, waits } = await setup(fetch, comeBack('30'), { maxRetries: 0 })
		const other = await serve(fine)
		await failure(client.get(server.url()))
		expect(await textOf(client.get(other.url()))).toBe('fine')
		expect(waits).toEqual([])
		expect(client.stats.origins[other.origin]?.pausedForMs).toBe(0)
		expect(client.stats.origins[server.origin]?.pausedForMs).toBe(30_000)
	})

	it('Retry-After of a request that is not retried still pauses the origin', async () => {
		const { client, server, waits } = await setup(fetch, [comeBack('7'), fine])
		const error = await failure(client.post(server.url(), { body: 'order' }))
		expect(error).toMatchObject({ statusCode: 429, retryAfterMs: 7_000 })
		await client.get(server.url())
		expect(waits[0]).toBeGreaterThan(7_000)
	})

	it('Retry-After of a 404 does not pause the origin', async () => {
		const { client, server, waits } = await setup(fetch, [comeBack('7', 404), fine])
		expect(await failure(client.get(server.url()))).toMatchObject({ statusCode: 404, retryAfterMs: 7_000 })
		await client.get(server.url())
		expect(waits).toEqual([])
	})

	it('Retry-After that arrives during a pause extends it', async () => {
		const script = [comeBack('1'), comeBack('5'), fine] as const
		const { client, server, clock, waiting } = await setup(fetch, script, { areWaitsHeld: true })
		const all = [textOf(client.get(server.url()))]
		await waiting(1)
		all.push(textOf(client.get(server.url())), textOf(client.get(server.url())))
		await waiting(3)
		// The first one to continue receives five more seconds of pause, and so do those behind it.
		while (client.stats.attempts === 1) await clock.advance(1)
		await server.requested(2)
		const asked = clock.now()
		await server.done(2)
		await waiting(4)
		await clock.advance(4_999 - (clock.now() - asked))
		expect(client.stats.attempts).toBe(2)
		while (client.stats.attempts < 5) await clock.advance(100)
		expect(await Promise.all(all)).toEqual(['fine', 'fine', 'fine'])
	})

	it('rejects a paused call immediately if its deadline is earlier', async () => {
		const { client, server, runtime, waits } = await setup(fetch, [comeBack('10'), fine], {
			maxRetries: 0,
		})
		await failure(client.get(server.url()))
		const hurried = [
			{ deadline: Deadline.after(10_000, { runtime }) },
			{ totalTimeoutMs: 9_000 },
			{ parent: { deadline: Deadline.after(500, { runtime }) } },
		]
		for (const yaoki of hurried) {
			const error = await failure(client.get(server.url(), { yaoki }))
			expect(error).toBeInstanceOf(RateLimitedError)
			expect(error).toMatchObject({ policy: server.origin })
			const { retryAfterMs = 0 } = error instanceof RateLimitedError ? error : {}
			expect(retryAfterMs).toBeGreaterThanOrEqual(10_000)
			expect(retryAfterMs).toBeLessThanOrEqual(12_500)
			expect(explain(error)?.attempts).toMatchObject([{ errorType: 'RateLimitedError', durationMs: 0 }])
		}
		expect(waits).toEqual([])
		expect(server.requests).toHaveLength(1)
		// Nothing was sent, so the breaker counts nothing.
		expect(client.stats.origins[server.origin]?.circuit?.failureCount).toBe(1)
	})

	it('ends the failed call immediately if its deadline is earlier', async () => {
		const { client, server, waits } = await setup(fetch, comeBack('10'), { totalTimeoutMs: 9_000 })
		const error = await failure(client.get(server.url()))
		expect(error).toMatchObject({ statusCode: 429, retryAfterMs: 10_000, body: 'later' })
		expect(explain(error)?.stop).toBe('deadline')
		expect(waits).toEqual([])
	})

	it('ends a paused call immediately on abort', async () => {
		const { client, server, waiting, clock } = await setup(fetch, [comeBack('10'), fine], {
			areWaitsHeld: true,
			maxRetries: 0,
		})
		await failure(client.get(server.url()))
		const abort = new AbortController()
		const failed = failure(client.get(server.url(), { signal: abort.signal }))
		await waiting(1)
		abort.abort('home')
		expect(await failed).toBe('home')
		expect(clock.pendingTimers).toBe(0)
		expect(client.stats).toMatchObject({
			attempts: 1,
			origins: { [server.origin]: { bulkhead: { concurrent: 0 } } },
		})
	})

	it('above maxRetryAfterMs fails with retryAfterMs', async () => {
		const { client, server, waits } = await setup(fetch, comeBack('3600'))
		const error = await failure(client.get(server.url()))
		expect(error).toMatchObject({
			name: 'HttpError',
			statusCode: 429,
			retryAfterMs: 3_600_000,
			body: 'later',
		})
		expect(explain(error)?.stop).toBe('retry-after')
		expect(waits).toEqual([])
		expect(server.requests).toHaveLength(1)
	})

	it("is clamped to maxRetryAfterMs with longRetryAfter: 'clamp'", async () => {
		const options = { maxRetryAfterMs: 2_000, longRetryAfter: 'clamp' } as const
		const { client, server, waits } = await setup(fetch, [comeBack('99999999999'), fine], options)
		expect(await textOf(client.get(server.url()))).toBe('fine')
		expect(waits[0]).toBeGreaterThan(2_000)
		expect(waits[0]).toBeLessThanOrEqual(2_500)
	})

	it("above maxRetryAfterMs is ignored with longRetryAfter: 'ignore'", async () => {
		const options = { maxRetryAfterMs: 2_000, longRetryAfter: 'ignore' } as const
		const { client, server, waits } = await setup(fetch, [comeBack('3'), fine, comeBack('1'), fine], options)
		await client.get(server.url())
		expect(waits).toEqual([100])
		expect(client.stats.origins[server.origin]?.pausedForMs).toBe(0)
		await client.get(server.url())
		expect(waits[1]).toBeGreaterThan(1_000)
	})

	it.each(['-1', '1e3', '0x10', '', 'soon', '1, soon'])('Retry-After of %j is ignored', async (text) => {
		const { client, server, waits } = await setup(fetch, [comeBack(text), fine])
		await client.get(server.url())
		expect(waits).toEqual([100])
	})

	it("Retry-After as a date is compared with the server's clock", async () => {
		const aheadByHours = {
			date: 'Thu, 01 Jan 2026 05:00:00 GMT',
			'retry-after': 'Thu, 01 Jan 2026 05:00:07 GMT',
		}
		const { client, server, waits } = await setup(fetch, [comeBack('', 503, aheadByHours), fine])
		await client.get(server.url())
		expect(waits[0]).toBeGreaterThan(7_000)
		expect(waits[0]).toBeLessThanOrEqual(8_750)
	})
})

describe('for any random numbers', () => {
	it('no caller comes back before the requested time', async () => {
		const asked = fc.integer({ min: 1, max: 60 })
		await fc.assert(
			fc.asyncProperty(
				fc.integer(),
				asked,
				fc.integer({ min: 0, max: 100 }),
				async (seed, seconds, share) => {
					const { clock, runtime } = virtualTime({ seed, areWaitsHeld: true })
					const sentAt: number[] = []
					const headers = { 'retry-after': `${seconds}` }
					const fetch = async () => {
						const isFirst = sentAt.push(clock.now()) === 1
						return new Response('', isFirst ? { status: 429, headers } : {})
					}
					const client = new ResilientHttpClient({ fetch, runtime, totalTimeoutMs: Infinity })
					const calls = [client.get('http://a.example.com/')]
					// The others start at a random time during the pause.
					await clock.advance((seconds * 1_000 * share) / 100)
					for (let n = 0; n < 5; n++) calls.push(client.get('http://a.example.com/'))
					await clock.advance(200_000)
					await Promise.all(calls)
					expect(sentAt).toHaveLength(7)
					for (const at of sentAt.slice(1)) expect(at).toBeGreaterThanOrEqual(seconds * 1_000)
				},
			),
			{ numRuns: 200 },
		)
	})
})
