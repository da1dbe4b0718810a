import { describe, expect, it } from 'vitest'
import { RateLimitedError } from 'yaoki'
import { answer, type Step } from '../faults/fault-server.ts'
import type { SeenRequest } from '../faults/ledger.ts'
import {
	type Client,
	FETCHES,
	failure,
	type Setup,
	type SetupOptions,
	serve,
	setup,
	textOf,
} from './setup.ts'

const LIMIT = 10
const WINDOW_MS = 10_000

interface Quota {
	readonly remaining: number
	readonly resetMs: number
}

type Wording = (quota: Quota, wallNow: number) => Record<string, string>

const seconds = (ms: number): string => `${Math.ceil(ms / 1_000)}`

/** The headers in which servers report their quota. */
const WORDINGS: readonly (readonly [name: string, wording: Wording])[] = [
	[
		'RateLimit of the current draft',
		({ remaining, resetMs }) => ({
			'ratelimit-policy': `"default";q=${LIMIT};w=${WINDOW_MS / 1_000}`,
			ratelimit: `"default";r=${remaining};t=${seconds(resetMs)}`,
		}),
	],
	[
		'RateLimit-Remaining of older drafts',
		({ remaining, resetMs }) => ({
			'ratelimit-limit': `${LIMIT}`,
			'ratelimit-remaining': `${remaining}`,
			'ratelimit-reset': seconds(resetMs),
		}),
	],
	[
		'X-RateLimit-Remaining with the seconds that are left',
		({ remaining, resetMs }) => ({
			'x-ratelimit-limit': `${LIMIT}`,
			'x-ratelimit-remaining': `${remaining}`,
			'x-ratelimit-reset': seconds(resetMs),
		}),
	],
	[
		'X-RateLimit-Remaining with the time of the reset',
		({ remaining, resetMs }, wallNow) => ({
			date: new Date(wallNow).toUTCString(),
			'x-ratelimit-limit': `${LIMIT}`,
			'x-ratelimit-remaining': `${remaining}`,
			'x-ratelimit-reset': seconds(wallNow + resetMs),
		}),
	],
]

/** A server that accepts a number of requests per window, which starts with the first one, and responds with 429 to all others. */
function counting(
	time: { now(): number; wallNow(): number },
	wording: Wording,
): (request: SeenRequest) => Step {
	let endsAt = -Infinity
	let count = 0
	return () => {
		if (time.now() >= endsAt) {
			endsAt = time.now() + WINDOW_MS
			count = 0
		}
		count++
		const quota = { remaining: Math.max(0, LIMIT - count), resetMs: endsAt - time.now() }
		const headers = wording(quota, time.wallNow())
		return count > LIMIT ? answer({ status: 429, headers }) : answer({ headers, body: 'fine' })
	}
}

const patient: SetupOptions = {
	timeout: Infinity,
	totalTimeoutMs: Infinity,
	maxRetries: 0,
	circuitBreaker: false,
}

/** Advances the clock until this is true, but not while a request is in flight. */
async function unhurried<T>({ client, server, clock }: Setup, promise: Promise<T>): Promise<T> {
	let isOver = false
	const over = promise.finally(() => {
		isOver = true
	})
	while (!isOver) {
		while (client.stats.origins[server.origin]?.inFlight) await new Promise(setImmediate)
		await clock.advance(100)
	}
	return over
}

/** Sends one request, which reports the quota, and then the others concurrently. Returns the statuses. */
async function askOften(client: Client, url: string, times: number): Promise<readonly number[]> {
	const ask = () =>
		client.get(url).then(
			async (response) => {
				await response.text()
				return response.status
			},
			({ statusCode }) => statusCode,
		)
	const first = await ask()
	return [first, ...(await Promise.all(Array.from({ length: times - 1 }, ask)))]
}

describe.each(FETCHES)('a server with a quota over %s', (_, fetch) => {
	describe.each(WORDINGS)('reported by %s', (_name, wording) => {
		it('never sends a 429 for a hundred requests', async () => {
			const all = await setup(fetch, answer(), { ...patient, areWaitsHeld: true })
			const { client, server, clock } = all
			server.play(counting(clock, wording))
			const statuses = await unhurried(all, askOften(client, server.url(), 100))
			expect(statuses).toEqual(Array(100).fill(200))
			expect(server.requests).toHaveLength(100)
			// Ten windows and not many more: the quota is used.
			expect(clock.now()).toBeGreaterThanOrEqual(9 * WINDOW_MS)
			expect(clock.now()).toBeLessThan(15 * WINDOW_MS)
		})

		it('sends a 429 for the excess with honorRateLimit: false', async () => {
			const { client, server, clock, waits } = await setup(fetch, answer(), {
				...patient,
				honorRateLimit: false,
			})
			server.play(counting(clock, wording))
			const statuses = await askOften(client, server.url(), 30)
			expect(statuses.filter((status) => status === 429)).toHaveLength(20)
			expect(waits).toEqual([])
		})
	})

	it('receives concurrently what the quota allows', async () => {
		const { client, server, clock } = await setup(fetch, answer(), { ...patient, areWaitsHeld: true })
		const [, wording] = WORDINGS[0] ?? []
		if (wording) server.play(counting(clock, wording))
		await textOf(client.get(server.url()))
		for (let n = 0; n < 20; n++) void client.get(server.url())
		// Requests are sent in the next microtask.
		await undefined
		expect(client.stats.origins[server.origin]?.inFlight).toBe(9)
		await server.done(10)
		expect(client.stats.attempts).toBe(10)
		expect(client.stats.origins[server.origin]?.pausedForMs).toBeGreaterThan(0)
	})

	it('does not delay other origins, and calls without time are rejected immediately', async () => {
		const used = answer({ headers: { ratelimit: '"default";r=0;t=20' } })
		const { client, server, waits } = await setup(fetch, used, patient)
		const other = await serve(answer({ body: 'fine' }))
		await textOf(client.get(server.url()))
		expect(await textOf(client.get(other.url()))).toBe('fine')
		const error = await failure(client.get(server.url(), { yaoki: { totalTimeoutMs: 19_000 } }))
		expect(error).toBeInstanceOf(RateLimitedError)
		expect(error).toMatchObject({ message: expect.stringContaining(server.origin) })
		expect(waits).toEqual([])
		await client.get(server.url())
		expect(waits[0]).toBeGreaterThan(20_000)
	})

	it('a server with a quota that resets in an hour: calls are rejected with retryAfterMs', async () => {
		const used = answer({ headers: { ratelimit: '"default";r=0;t=3600' } })
		const { client, server, clock, waits } = await setup(fetch, used, patient)
		await textOf(client.get(server.url()))
		const error = await failure(client.get(server.url()))
		expect(error).toMatchObject({ code: 'YAOKI_RATE_LIMITED', retryAfterMs: 3_600_000 })
		expect(waits).toEqual([])
		await clock.advance(3_600_000)
		await textOf(client.get(server.url()))
		expect(server.requests).toHaveLength(2)
	})

	it.each([
		['clamp', 60_000],
		['ignore', 0],
	] as const)('that resets in an hour is handled by %s like a Retry-After', async (longRetryAfter, least) => {
		const used = answer({ headers: { ratelimit: '"default";r=0;t=3600' } })
		const { client, server, clock } = await setup(fetch, used, { ...patient, longRetryAfter })
		await textOf(client.get(server.url()))
		await textOf(client.get(server.url()))
		expect(clock.now()).toBeGreaterThanOrEqual(least)
		expect(clock.now()).toBeLessThanOrEqual(least * 1.25)
	})

	it.each([
		['that is malformed', { ratelimit: 'r=0, t=?' }],
		['without a reset time', { ratelimit: '"default";r=0' }],
		['that is reset in the past', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1000000000' }],
	])('%s delays no request', async (_what, headers) => {
		const { client, server, waits } = await setup(fetch, answer({ headers }), patient)
		for (let n = 0; n < 5; n++) await textOf(client.get(server.url()))
		expect(waits).toEqual([])
	})
})
