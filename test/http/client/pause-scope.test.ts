import { describe, expect, it } from 'vitest'
import { type HttpClientOptions, ResilientHttpClient } from 'yaoki/http'
import { failure, virtualTime } from './setup.ts'

const URL = 'http://a.example.com/'

/** A client of a server that limits these users, by `x-user` or `authorization`, and the users of the requests that it received. */
function clientOf(limited: readonly string[], options: HttpClientOptions, headers: HeadersInit) {
	const { clock, runtime } = virtualTime({ areWaitsHeld: true })
	const sent: string[] = []
	const fetch = async (_: unknown, init?: RequestInit) => {
		const given = new Headers(init?.headers)
		const user = given.get('x-user') ?? given.get('authorization') ?? ''
		sent.push(user)
		return limited.includes(user) ? new Response('', { status: 429, headers }) : new Response('fine')
	}
	const client = new ResilientHttpClient({ fetch, runtime, maxRetries: 0, ...options })
	const outcome = (name: string, user: string) =>
		client.get(URL, { headers: { [name]: user } }).then(
			({ status }) => status,
			(error: Error) => ('statusCode' in error ? error.statusCode : error.name),
		)
	return { client, clock, sent, outcome }
}

const PAUSE = { 'retry-after': '3600' }
const QUOTA = { 'ratelimit-limit': '10', 'ratelimit-remaining': '0', 'ratelimit-reset': '3600' }

describe.each([
	['Retry-After', PAUSE],
	['RateLimit headers', QUOTA],
])('%s', (_, headers) => {
	it("pauses all callers of the origin of a 429 by default (pauseScope: 'auto')", async () => {
		const { outcome } = clientOf(['ada'], {}, headers)
		expect(await outcome('authorization', 'ada')).toBe(429)
		expect(await outcome('authorization', 'bob')).toBe('RateLimitedError')
	})

	it("pauses callers with the same credentials with pauseScope: 'principal'", async () => {
		const { outcome, sent, client } = clientOf(['ada'], { pauseScope: 'principal' }, headers)
		expect(await outcome('authorization', 'ada')).toBe(429)
		expect(await outcome('authorization', 'ada')).toBe('RateLimitedError')
		expect(await outcome('authorization', 'bob')).toBe(200)
		expect(sent).toEqual(['ada', 'bob'])
		expect(client.stats.origins['http://a.example.com']).toMatchObject({ pausedForMs: 0, inFlight: 0 })
	})

	it('pauses callers for which the principal option returns the same text', async () => {
		const principal = ({ headers }: { headers: Headers }) => headers.get('x-user') ?? undefined
		const { outcome } = clientOf(['ada'], { pauseScope: 'principal', principal }, headers)
		expect(await outcome('x-user', 'ada')).toBe(429)
		expect(await outcome('x-user', 'ada')).toBe('RateLimitedError')
		expect(await outcome('x-user', 'bob')).toBe(200)
	})

	it("pauses no other call with pauseScope: 'call'", async () => {
		const { outcome, sent } = clientOf(['ada'], { pauseScope: 'call' }, headers)
		for (let n = 0; n < 3; n++) expect(await outcome('authorization', 'ada')).toBe(429)
		expect(sent).toHaveLength(3)
	})
})

describe('pauseScope', () => {
	it.each(['principal', 'call'] as const)('%s still delays the retries of the call itself', async (scope) => {
		const { clock, runtime, waits } = virtualTime()
		const responses = [
			new Response('', { status: 503, headers: { 'retry-after': '7' } }),
			new Response('fine'),
		]
		const fetch = async () => responses.shift() ?? new Response('third', { status: 500 })
		const client = new ResilientHttpClient({ fetch, runtime, pauseScope: scope, maxRetries: 1 })
		expect(await (await client.get(URL)).text()).toBe('fine')
		expect(clock.now()).toBeGreaterThanOrEqual(7_000)
		expect(waits).toHaveLength(1)
	})

	it('principal keeps at most maxOrigins principals', async () => {
		const options = { pauseScope: 'principal', maxOrigins: 5, maxPauseMs: Infinity } as const
		const { outcome, sent } = clientOf(['ada'], options, PAUSE)
		await outcome('authorization', 'ada')
		for (let n = 0; n < 5; n++) await outcome('authorization', `user ${n}`)
		await outcome('authorization', 'ada')
		expect(sent.filter((user) => user === 'ada')).toHaveLength(2)
	})

	it('principal is not paused by what another origin responds after a redirect', async () => {
		const { runtime } = virtualTime()
		const fetch = async (url: unknown) =>
			String(url) === URL
				? new Response('', { status: 302, headers: { location: 'http://b.example.com/' } })
				: new Response('', { status: 429, headers: PAUSE })
		const client = new ResilientHttpClient({ fetch, runtime, pauseScope: 'principal', maxRetries: 0 })
		for (let n = 0; n < 2; n++) expect(await failure(client.get(URL))).toMatchObject({ statusCode: 429 })
	})

	it('rejects another value', () => {
		const options: unknown = { pauseScope: 'user' }
		expect(() => new ResilientHttpClient(options as object)).toThrow(
			'Invalid option "pauseScope": expected one of auto, origin, principal, call, got "user"',
		)
	})
})
