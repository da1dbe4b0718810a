import { describe, expect, it } from 'vitest'
import { explain } from 'yaoki'
import { type HttpClientOptions, ResilientHttpClient } from 'yaoki/http'
import { virtualRuntime } from 'yaoki/testing'
import { deferred } from '../deferred.ts'
import { type Recorder, recorder } from './recorder.ts'
import { failure } from './setup.ts'

const API = 'https://api.example.com'

interface Service extends Recorder {
	/** The token that the server accepts. */
	valid: string
	/** The token that the program has. */
	token: string | undefined
	refreshes: number
}

/** A server that accepts one token, and a client whose token is old. */
function service(options: HttpClientOptions = {}): Service {
	const state = { valid: 'new', token: 'old' as string | undefined, refreshes: 0 }
	const auth = {
		token: () => state.token,
		refresh: async () => {
			state.refreshes++
			state.token = 'new'
		},
	}
	const recorded = recorder({ baseUrl: API, auth, ...options }, (_, { headers, body }) => {
		const isValid = new Headers(headers).get('authorization') === `Bearer ${state.valid}`
		return new Response(isValid ? `fine ${body ?? ''}` : 'who?', { status: isValid ? 200 : 401 })
	})
	return Object.assign(state, recorded)
}

const tokens = ({ headers }: Recorder) => headers.map(({ authorization }) => authorization)

describe('the token of a client', () => {
	it.each([
		['a token', () => 'abc', 'Bearer abc'],
		['a promise', async () => 'abc', 'Bearer abc'],
		['undefined', () => undefined, undefined],
		['null', () => null, undefined],
	])('is sent as a bearer token if the function returns %s', async (_, token, expected) => {
		const { client, headers } = recorder({ baseUrl: API, auth: { token } })
		await client.get('a')
		expect(headers[0]?.['authorization']).toBe(expected)
	})

	it('is sent to the origin of baseUrl only', async () => {
		const { client, headers } = recorder({ baseUrl: API, auth: { token: () => 'secret' } })
		await client.get('https://other.example.com')
		await client.extend({ baseUrl: 'https://other.example.com' }).get('a')
		await client.get(`${API}/b`)
		expect(headers.map(({ authorization }) => authorization)).toEqual([undefined, undefined, 'Bearer secret'])
	})

	it('replaces a default header, and is replaced or removed by that of a request', async () => {
		const { client, headers } = recorder({
			baseUrl: API,
			headers: { authorization: 'Basic x' },
			auth: { token: () => 'abc' },
		})
		await client.get('a')
		await client.get('a', { headers: { Authorization: 'Basic y' } })
		await client.get('a', { headers: new Headers({ authorization: 'Basic z' }) })
		expect(headers.map(({ authorization }) => authorization)).toEqual(['Bearer abc', 'Basic y', 'Basic z'])
	})

	it('the token of a client that is not a token rejects the call, without the value in the message', async () => {
		for (const given of ['two words', 'new\nline', '', 7]) {
			const token: unknown = () => given
			const { client, sent } = recorder({ baseUrl: API, auth: { token: token as () => string } })
			const error = await failure(client.get('a'))
			expect(error).toMatchObject({ code: 'YAOKI_INVALID_OPTION', optionPath: 'auth.token()' })
			expect(String(error)).not.toMatch(/two words|new\nline|7/)
			expect(sent).toEqual([])
		}
	})

	it('separates cached responses', async () => {
		const server = service({ cache: true })
		server.token = 'new'
		expect(await server.client.get('a').text()).toBe('fine ')
		server.client.circuitBreaker()?.isolate()
		expect(await server.client.get('a').text()).toBe('fine ')
		server.token = 'of another user'.replaceAll(' ', '-')
		expect(await failure(server.client.get('a'))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
	})

	it.each([
		[
			'{"auth":{}}',
			'Invalid option "baseUrl": expected a URL, because auth sends its token to that origin only',
		],
		['{"baseUrl":"https://a.example.com","auth":{}}', 'Invalid option "auth.token": expected a function'],
		[
			'{"baseUrl":"https://a.example.com","auth":{"token":"abc"}}',
			'Invalid option "auth.token": expected a function',
		],
		['{"baseUrl":"https://a.example.com","auth":null}', 'Invalid option "auth.options": expected an object'],
		['{"baseUrl":"https://a.example.com","auth":{"renew":1}}', 'Unknown option "auth.renew" for auth'],
	])('is rejected by %s', (options, message) => {
		expect(() => new ResilientHttpClient(JSON.parse(options))).toThrow(message)
	})
})

describe('after a 401', () => {
	it('one refresh renews the token for all requests, and each is repeated once, POST too', async () => {
		const server = service({ idempotency: 'auto' })
		const { client } = server
		const texts = await Promise.all([
			client.get('a').text(),
			client.post('b', { json: { id: 7 } }).text(),
			client.put('c', { body: () => 'made' }).text(),
		])
		expect(texts).toEqual(['fine ', 'fine {"id":7}', 'fine made'])
		expect(server.refreshes).toBe(1)
		expect(tokens(server)).toEqual([...Array(3).fill('Bearer old'), ...Array(3).fill('Bearer new')])
		const keys = server.headers.flatMap((sent) => sent['idempotency-key'] ?? [])
		expect(keys).toHaveLength(2)
		expect(new Set(keys).size).toBe(1)
	})

	it('callers that share one request by singleFlight share its refresh and its repeat', async () => {
		const server = service({ singleFlight: true })
		const calls = Array.from({ length: 5 }, () => server.client.get('a').text())
		expect(await Promise.all(calls)).toEqual(Array(5).fill('fine '))
		expect(server.refreshes).toBe(1)
		expect(tokens(server)).toEqual(['Bearer old', 'Bearer new'])
		expect(server.client.stats).toMatchObject({ requests: 1, attempts: 1, shared: 4, failures: 0 })
	})

	it('a request that was sent with an older token is repeated without a refresh', async () => {
		const server = service()
		const pending = server.client.get('a')
		// After the request has its token.
		await Promise.resolve()
		server.token = 'new'
		if (tokens(server)[0] === undefined) await new Promise((resolve) => setImmediate(resolve))
		expect(await pending.text()).toBe('fine ')
		expect(server.refreshes).toBe(0)
	})

	it('a second 401 is final', async () => {
		const server = service()
		server.valid = 'none'
		expect(await failure(server.client.get('a'))).toMatchObject({ statusCode: 401, body: 'who?' })
		expect(server.refreshes).toBe(1)
		expect(tokens(server)).toEqual(['Bearer old', 'Bearer new'])
	})

	it('nothing is repeated without refresh, or if refresh does not change the token', async () => {
		for (const auth of [{ token: () => 'old' }, { token: () => 'old', refresh: () => {} }]) {
			const server = service({ auth })
			expect(await failure(server.client.get('a'))).toMatchObject({ statusCode: 401 })
			expect(server.sent).toHaveLength(1)
		}
	})

	it('a request without a token is repeated with one', async () => {
		const server = service()
		server.token = undefined
		expect(await server.client.get('a').text()).toBe('fine ')
		expect(tokens(server)).toEqual([undefined, 'Bearer new'])
	})

	it('a stream is not sent again, and the 401 is final', async () => {
		const server = service()
		const body = new Response('once').body
		expect(await failure(server.client.post('a', { body }))).toMatchObject({ statusCode: 401 })
		expect(server.sent).toHaveLength(1)
	})

	it('a request with its own header is not repeated, so that refresh can use the same client', async () => {
		const server: Service = service({
			auth: {
				token: () => server.token,
				refresh: async () => {
					server.refreshes++
					const headers = { authorization: undefined }
					const error = await failure(server.client.post('login', { headers }))
					expect(error).toMatchObject({ statusCode: 401 })
					server.token = 'new'
				},
			},
		})
		expect(await server.client.get('a').text()).toBe('fine ')
		expect(server.refreshes).toBe(1)
		expect(tokens(server)).toEqual(['Bearer old', undefined, 'Bearer new'])
	})

	it('the repeat is not a retry: it needs no retries and no budget, and does not count for the circuit', async () => {
		const events: string[] = []
		const server = service({
			maxRetries: 0,
			budget: { maxRetryRatio: 0, minRetriesPerSecond: 0 },
			circuitBreaker: { failureThreshold: 1 },
			onEvent: ({ type }) => events.push(type),
		})
		expect(await server.client.get('a').text()).toBe('fine ')
		expect(server.client.stats).toMatchObject({ requests: 1, failures: 0, attempts: 1 })
		expect(server.client.circuitBreaker()?.stats).toMatchObject({ failureCount: 0, successCount: 1 })
		expect(events).toEqual(['retry_success', 'success', 'call'])
	})

	const REPEATED = 'HTTP 401, another token was sent'

	it('explain shows both requests', async () => {
		const runtime = virtualRuntime()
		const server = service({ runtime })
		const response = await server.client.get('a')
		expect(explain(response)?.attempts).toMatchObject([
			{ attempt: 1, outcome: 'permanent', errorMessage: REPEATED, delayMs: 0, delaySource: 'immediate' },
			{ attempt: 1, outcome: 'success' },
		])
		expect(String(explain(response))).toContain(
			`permanent (HttpError: ${REPEATED}), repeated immediately\n  #1`,
		)
		server.token = 'old'
		server.valid = 'none'
		const error = await failure(server.client.get('a'))
		expect(explain(error)).toMatchObject({
			stop: 'permanent',
			attempts: [
				{ delaySource: 'immediate' },
				{ outcome: 'permanent', errorMessage: expect.stringContaining('HTTP 401') },
			],
		})
	})

	it('retries after the repeat count as retries', async () => {
		let requests = 0
		const { client, headers } = recorder(
			{ baseUrl: API, auth: { token: () => (requests ? 'new' : 'old') }, maxRetries: 1, baseDelayMs: 0 },
			() => new Response('', { status: [401, 503, 200][requests++] ?? 500 }),
		)
		const response = await client.get('a')
		expect(headers).toHaveLength(3)
		expect(explain(response)?.attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
			[1, 'permanent'],
			[1, 'throttled'],
			[2, 'success'],
		])
		expect(client.stats.attempts).toBe(2)
	})

	it('clients that were extended share the refresh', async () => {
		const server = service()
		const child = server.client.extend({ headers: { 'x-user': 'Ada' } })
		await Promise.all([server.client.get('a'), child.get('b')])
		expect(server.refreshes).toBe(1)
	})

	it('each token has its own refresh, so that users do not share one', async () => {
		const users: Record<string, string> = { ada: 'old-ada', bob: 'old-bob' }
		const refreshed: string[] = []
		const { client } = recorder({ baseUrl: API }, (_, { headers }) => {
			const isOld = new Headers(headers).get('authorization')?.includes('old')
			return new Response('', { status: isOld ? 401 : 200 })
		})
		const forUser = (user: string) =>
			client.extend({
				auth: {
					token: () => users[user],
					refresh: () => {
						refreshed.push(user)
						users[user] = `new-${user}`
					},
				},
			})
		await Promise.all(['ada', 'bob'].map((user) => forUser(user).get('a')))
		expect(refreshed).toEqual(['ada', 'bob'])
	})
})

describe('a refresh', () => {
	it('a refresh that fails rejects all requests that need it, with one call, and is tried again later', async () => {
		let refreshes = 0
		let isDown = true
		const late = deferred()
		const server: Service = service({
			auth: {
				token: () => server.token,
				refresh: async () => {
					refreshes++
					if (isDown) throw new TypeError('fetch failed')
					server.token = 'new'
				},
			},
			circuitBreaker: { failureThreshold: 1 },
			fetch: async (url, init) => {
				if (String(url).endsWith('late')) await late.promise
				const isNew = new Headers(init?.headers).get('authorization') === 'Bearer new'
				return new Response('', { status: isNew ? 200 : 401 })
			},
		})
		const { client } = server
		const calls = [client.get('a'), client.post('b')].map(failure)
		const slow = failure(client.get('late'))
		const errors = await Promise.all(calls)
		late.resolve()
		for (const error of [...errors, await slow])
			expect(error).toMatchObject({
				code: 'YAOKI_AUTH_REFRESH',
				message: 'HTTP 401, renewing the token failed: TypeError: fetch failed',
				cause: expect.any(TypeError),
			})
		expect(new Set(errors).size).toBe(2)
		expect(refreshes).toBe(1)
		expect(client.circuitBreaker()?.currentState).toBe('closed')
		isDown = false
		expect((await client.get('a')).status).toBe(200)
		expect(refreshes).toBe(2)
	})

	it('does not end when one of its callers aborts', async () => {
		const renewed = deferred()
		const started = deferred()
		const server: Service = service({
			auth: {
				token: () => server.token,
				refresh: async () => {
					started.resolve()
					await renewed.promise
					server.token = 'new'
				},
			},
		})
		const controller = new AbortController()
		const aborted = failure(server.client.get('a', { signal: controller.signal }))
		const patient = server.client.get('b').text()
		await started.promise
		controller.abort(new Error('left the page'))
		expect(await aborted).toMatchObject({ message: 'left the page' })
		renewed.resolve()
		expect(await patient).toBe('fine ')
	})

	it('a refresh that hangs ends with the timeout, does not open the circuit, and does not block later requests', async () => {
		const runtime = virtualRuntime()
		let refreshes = 0
		const signals: AbortSignal[] = []
		const server: Service = service({
			runtime,
			timeout: 500,
			totalTimeoutMs: 800,
			maxRetries: 0,
			circuitBreaker: { failureThreshold: 1 },
			auth: {
				token: () => server.token,
				refresh: ({ signal }) => {
					signals.push(signal)
					if (++refreshes === 1) return new Promise(() => {})
					server.token = 'new'
					return undefined
				},
			},
		})
		const error = failure(server.client.get('a'))
		await runtime.advance(500)
		expect(await error).toMatchObject({ code: 'YAOKI_TIMEOUT', timeoutMs: 500 })
		expect(signals[0]?.aborted).toBe(true)
		expect(server.client.circuitBreaker()?.currentState).toBe('closed')
		expect(await server.client.get('b').text()).toBe('fine ')
	})

	it('is covered by the deadline of the call', async () => {
		const runtime = virtualRuntime()
		const server: Service = service({
			runtime,
			timeout: 500,
			auth: { token: () => server.token, refresh: () => new Promise(() => {}) },
		})
		const error = failure(server.client.get('a', { yaoki: { totalTimeoutMs: 100 } }))
		await runtime.advance(100)
		expect(await error).toMatchObject({ code: 'YAOKI_TIMEOUT', timeoutMs: 100 })
	})
})
