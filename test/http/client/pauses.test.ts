import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RateLimitedError } from 'yaoki'
import { type HttpClientOptions, ResilientHttpClient } from 'yaoki/http'
import { failure, virtualTime } from './setup.ts'

const URL = 'http://a.example.com/'
const ORIGIN = 'http://a.example.com'
const MINUTE_MS = 60_000

const comeBack = (seconds: string, headers = {}) =>
	new Response('', { status: 429, headers: { 'retry-after': seconds, ...headers } })

/** A client of a server that sends these responses, one after the other and then 200, and the times of the requests. */
function clientOf(responses: readonly (Response | Error | undefined)[], options: HttpClientOptions = {}) {
	const { clock, runtime } = virtualTime({ areWaitsHeld: true })
	const sentAt: number[] = []
	const left = [...responses]
	const fetch = async () => {
		sentAt.push(clock.now())
		const next = left.shift() ?? new Response('fine')
		if (next instanceof Error) throw next
		return next
	}
	const client = new ResilientHttpClient({
		fetch,
		runtime,
		maxRetries: 0,
		circuitBreaker: false,
		...options,
	})
	const get = () =>
		client.get(URL).then(
			({ status }) => status,
			(error: Error) => error.name,
		)
	return { client, clock, sentAt, get }
}

describe('an origin that asked for a pause of an hour', () => {
	test('gets no request for a minute, then one as a probe, whose success ends the pause', async () => {
		const { client, clock, sentAt, get } = clientOf([comeBack('3600')])
		await failure(client.get(URL))
		for (let n = 0; n < 10; n++) {
			expect(await failure(client.get(URL))).toBeInstanceOf(RateLimitedError)
			await clock.advance(MINUTE_MS / 10 - 1)
		}
		expect(sentAt).toHaveLength(1)
		await clock.advance(10)
		expect(await get()).toBe(200)
		expect(client.stats.origins[ORIGIN]?.pausedForMs).toBe(0)
		expect(await Promise.all([get(), get()])).toEqual([200, 200])
	})

	test('gets one probe per minute while it asks for more', async () => {
		const { clock, sentAt, get } = clientOf(Array.from({ length: 99 }, () => comeBack('3600')))
		for (let second = 0; second < 600; second++) {
			await get()
			await clock.advance(1_000)
		}
		expect(sentAt.length).toBeGreaterThan(8)
		expect(sentAt.length).toBeLessThanOrEqual(11)
		for (const [index, at] of sentAt.entries())
			if (index > 0) expect(at - (sentAt[index - 1] ?? 0)).toBeGreaterThanOrEqual(MINUTE_MS)
	})

	test.each([
		['a 503 without Retry-After', new Response('', { status: 503 })],
		['a network error', Object.assign(new Error('reset'), { code: 'ECONNRESET' })],
	])('stays paused if the probe ends with %s', async (_, outcome) => {
		const { client, clock, get } = clientOf([comeBack('3600'), outcome])
		await get()
		await get()
		await clock.advance(MINUTE_MS)
		await get()
		expect(await get()).toBe('RateLimitedError')
		expect(client.stats.origins[ORIGIN]?.pausedForMs).toBeGreaterThan(3_000_000)
		await clock.advance(MINUTE_MS)
		expect(await get()).toBe(200)
	})

	test('is probed although the response to an earlier probe never arrives', async () => {
		const { clock, runtime } = virtualTime({ areWaitsHeld: true })
		let requests = 0
		const fetch = () => {
			requests++
			if (requests === 1) return Promise.resolve(comeBack('3600'))
			return requests === 2 ? new Promise<Response>(() => {}) : Promise.resolve(new Response('fine'))
		}
		const client = new ResilientHttpClient({ fetch, runtime, maxRetries: 0, timeout: Infinity })
		await failure(client.get(URL))
		await failure(client.get(URL))
		await clock.advance(MINUTE_MS)
		void client.get(URL)
		expect(await failure(client.get(URL))).toBeInstanceOf(RateLimitedError)
		await clock.advance(MINUTE_MS)
		expect((await client.get(URL)).status).toBe(200)
	})

	test('is probed after maxPauseMs, and never with Infinity', async () => {
		const sooner = clientOf([comeBack('3600')], { maxPauseMs: 5_000 })
		await sooner.get()
		await sooner.get()
		await sooner.clock.advance(5_000)
		expect(await sooner.get()).toBe(200)
		const never = clientOf([comeBack('3600')], { maxPauseMs: Infinity })
		await never.get()
		await never.get()
		await never.clock.advance(3_500_000)
		expect(await never.get()).toBe('RateLimitedError')
		await never.clock.advance(100_000)
		expect(await never.get()).toBe(200)
	})

	test('lets waiting calls probe it: one continues, and the others after its success', async () => {
		const options = { maxRetryAfterMs: 3_600_000, totalTimeoutMs: Infinity }
		const { client, clock, sentAt, get } = clientOf([comeBack('3600')], options)
		await get()
		const calls = Array.from({ length: 20 }, () => get())
		// Ten more seconds than a minute with its jitter, and then again.
		await clock.advance(1.25 * MINUTE_MS + 10_000)
		expect(sentAt[1]).toBeGreaterThanOrEqual(MINUTE_MS)
		await clock.advance(3 * MINUTE_MS)
		expect(await Promise.all(calls)).toEqual(calls.map(() => 200))
		expect(client.stats.origins[ORIGIN]?.pausedForMs).toBe(0)
	})
})

describe('an origin that reported an exhausted quota for an hour', () => {
	const exhausted = () =>
		new Response('', { headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '3600' } })

	test('is probed after a minute, and a response without the headers ends the pause', async () => {
		const { clock, sentAt, get } = clientOf([exhausted()])
		await get()
		expect(await get()).toBe('RateLimitedError')
		await clock.advance(MINUTE_MS)
		expect(await Promise.all([get(), get()])).toEqual([200, 'RateLimitedError'])
		expect(sentAt).toEqual([0, MINUTE_MS])
		expect(await Promise.all([get(), get(), get()])).toEqual([200, 200, 200])
	})

	test('stays paused if the response to the probe reports the same', async () => {
		const { clock, get } = clientOf([exhausted(), exhausted()])
		await get()
		await get()
		await clock.advance(MINUTE_MS)
		expect(await get()).toBe(200)
		expect(await get()).toBe('RateLimitedError')
	})

	test('a quota that is spent here is not exceeded by a probe', async () => {
		const two = new Response('', { headers: { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '100' } })
		const { clock, sentAt, get } = clientOf([two], { honorRateLimit: true })
		await get()
		await clock.advance(30_000)
		await Promise.all([get(), get(), get()])
		expect(sentAt).toEqual([0, 30_000])
	})
})

test('for any pauses and times of calls, a paused origin gets at most one request per maxPauseMs', async () => {
	const pauses = fc.array(fc.integer({ min: 61, max: 4_000 }), { minLength: 1, maxLength: 8 })
	const gaps = fc.array(fc.integer({ min: 0, max: 90_000 }), { minLength: 5, maxLength: 60 })
	await fc.assert(
		fc.asyncProperty(
			pauses,
			gaps,
			fc.integer({ min: 1_000, max: 120_000 }),
			async (asked, waits, maxPauseMs) => {
				const responses = asked.map((seconds) => comeBack(`${seconds}`))
				const { clock, sentAt, get } = clientOf(responses, { maxPauseMs, maxRetryAfterMs: 0 })
				for (const ms of waits) {
					await get()
					await clock.advance(ms)
				}
				// While the server asks for pauses, which are all longer than a minute.
				for (const [index, at] of sentAt.slice(1, asked.length + 1).entries())
					expect(at - (sentAt[index] ?? 0)).toBeGreaterThanOrEqual(Math.min(maxPauseMs, MINUTE_MS))
			},
		),
		{ numRuns: 200 },
	)
})

describe('a 429 that reports only the time of its reset', () => {
	test.each([
		'ratelimit-reset',
		'x-ratelimit-reset',
		'x-ratelimit-reset-after',
		'x-rate-limit-reset',
		'x-ratelimit-reset-requests',
	])('pauses all callers until then: %s', async (name) => {
		const limited = new Response('', { status: 429, headers: { [name]: '20' } })
		const { client, clock, sentAt, get } = clientOf([limited])
		expect(await get()).toBe('HttpError')
		expect(client.stats.origins[ORIGIN]?.pausedForMs).toBe(20_000)
		const calls = [get(), get()]
		await clock.advance(19_999)
		expect(sentAt).toHaveLength(1)
		await clock.advance(10_000)
		expect(await Promise.all(calls)).toEqual([200, 200])
	})

	test('pauses nothing with another status, or with honorRateLimit: false', async () => {
		const headers = { 'ratelimit-reset': '20' }
		const fine = clientOf([new Response('', { headers })])
		await fine.get()
		expect(fine.client.stats.origins[ORIGIN]?.pausedForMs).toBe(0)
		const ignoring = clientOf([new Response('', { status: 429, headers })], { honorRateLimit: false })
		await ignoring.get()
		expect(ignoring.client.stats.origins[ORIGIN]?.pausedForMs).toBe(0)
	})
})

test.each([-1, Number.NaN, '60', null])('maxPauseMs: %j is rejected', (maxPauseMs) => {
	expect(() => new ResilientHttpClient({ maxPauseMs: maxPauseMs as number })).toThrow('"maxPauseMs"')
})
