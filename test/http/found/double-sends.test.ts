/** Regressions: requests that were sent twice, or with data of another request. */
import { describe, expect, it, vi } from 'vitest'
import { ResilientHttpClient, resilientFetch } from 'yaoki/http'
import { isUnprocessed } from '../../../src/http/request/retry-safety.ts'
import { FETCHES, failure, serve, setup, textOf } from '../client/setup.ts'
import { answer, refusedUrl } from '../faults/fault-server.ts'

const FINE = answer({ body: 'fine' })
const BAD = answer({ status: 500 })

describe.each(FETCHES)('over %s', (_, fetch) => {
	it.each([301, 302, 303, 307, 308])(
		'an order that was redirected by a %i to a host that is down is not sent again',
		async (status) => {
			const location = await refusedUrl()
			const { client, server } = await setup(fetch, answer({ status, headers: { location } }))
			await failure(client.post(server.url('/order'), { body: '1 tea' }))
			expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /order'])
		},
	)

	it('an order that was redirected to a host that responds with 421 is not sent again', async () => {
		const other = await serve(answer({ status: 421 }))
		const { client, server } = await setup(fetch, answer({ status: 307, headers: { location: other.url() } }))
		await failure(client.post(server.url('/order'), { body: '1 tea' }))
		expect(server.requests.length).toBe(1)
	})

	it.each([
		[301, 'GET'],
		[302, 'GET'],
		[303, 'GET'],
		[307, 'POST'],
		[308, 'POST'],
	])(
		'an order that is redirected by a %i is followed as %s, without the credentials of another host',
		async (status, method) => {
			const other = await serve(FINE)
			const { client, server } = await setup(
				fetch,
				answer({ status, headers: { location: other.url('/done') } }),
			)
			const headers = { authorization: 'alice', 'x-trace': '7' }
			const response = await client.post(server.url(), { body: '1 tea', headers })
			expect([await response.text(), response.redirected, response.url]).toEqual([
				'fine',
				true,
				other.url('/done'),
			])
			const [seen] = other.requests
			expect([seen?.method, seen?.body, seen?.headers['authorization'], seen?.headers['x-trace']]).toEqual([
				method,
				method === 'POST' ? '1 tea' : '',
				undefined,
				'7',
			])
		},
	)

	it('an order that never got a connection is still sent again', async () => {
		const { client } = await setup(fetch, FINE)
		await failure(client.post(await refusedUrl(), { body: '1 tea' }))
		expect(client.stats.attempts).toBe(4)
	})

	it('a retry sends its own headers, though the caller has changed the object', async () => {
		const { client, server, waiting, clock } = await setup(
			fetch,
			{ '/1': [BAD, FINE], '/2': FINE },
			{ areWaitsHeld: true },
		)
		const headers: Record<string, string> = { 'idempotency-key': 'order-1', authorization: 'alice' }
		const first = client.post(server.url('/1'), { headers, body: 'tea' })
		await waiting(1)
		Object.assign(headers, { 'idempotency-key': 'order-2', authorization: 'bob' })
		await textOf(client.post(server.url('/2'), { headers, body: 'coffee' }))
		await clock.advance(100)
		await textOf(first)
		const seen = server.requests.map(
			({ path, headers: sent }) => `${path} ${sent['idempotency-key']} ${sent['authorization']}`,
		)
		expect(seen).toEqual(['/1 order-1 alice', '/2 order-2 bob', '/1 order-1 alice'])
	})

	it.each([undefined, null])('a key that is %s is not a key', async (key) => {
		const { client, server } = await setup(fetch, BAD)
		await failure(client.post(server.url(), { headers: { 'idempotency-key': key } as never, body: 'tea' }))
		expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual([undefined])
	})

	it('a body that can be iterated only once is sent once', async () => {
		const { client, server } = await setup(fetch, [BAD, FINE])
		const pieces = (function* () {
			yield new TextEncoder().encode('payload')
		})()
		await failure(client.put(server.url(), { body: pieces as never }))
		expect(server.requests.length).toBe(1)
	})
})

it.each(['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN'])(
	'%s of an open connection does not prove that nothing was sent',
	(code) => {
		expect(isUnprocessed({ cause: { code, syscall: 'read' } })).toBe(false)
		expect(isUnprocessed({ cause: { code, syscall: 'connect' } })).toBe(true)
		expect(isUnprocessed({ cause: { code } })).toBe(true)
	},
)

// Regression: with a resilient fetch as the global one, a second resilient fetch sent sixteen requests for one failure.
it('retries do not multiply if the global fetch is a resilient fetch', async () => {
	const bare = globalThis.fetch
	const server = await serve(BAD)
	const options = { maxRetries: 3, baseDelayMs: 0, budget: false, circuitBreaker: false } as const
	vi.stubGlobal('fetch', resilientFetch(options))
	await resilientFetch(options)(server.url())
	expect(server.requests.length).toBe(4)
	await failure(new ResilientHttpClient(options).get(server.url()))
	expect(server.requests.length).toBe(8)
	vi.stubGlobal('fetch', bare)
})
