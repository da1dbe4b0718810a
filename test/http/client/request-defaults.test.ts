import { describe, expect, it } from 'vitest'
import { Deadline } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { virtualRuntime } from 'yaoki/testing'
import { deferred } from '../deferred.ts'
import { recorder } from './recorder.ts'
import { failure } from './setup.ts'

const API = 'https://api.example.com'

/** Options as they come out of a file, where no compiler has seen them. */
const made = (options: string) => () => new ResilientHttpClient(JSON.parse(options))

describe('baseUrl', () => {
	it.each([
		['https://api.example.com', '/users', '/users'],
		['https://api.example.com', 'users', '/users'],
		['https://api.example.com/', '/users', '/users'],
		['https://api.example.com/v1', 'users', '/v1/users'],
		['https://api.example.com/v1', '/users', '/v1/users'],
		['https://api.example.com/v1/', '/users', '/v1/users'],
		['https://api.example.com/v1/', 'users/', '/v1/users/'],
		['https://api.example.com/v1', '', '/v1'],
		['https://api.example.com/v1/', '', '/v1/'],
		['https://api.example.com/v1', '?page=2', '/v1?page=2'],
		['https://api.example.com/v1', 'users?page=2#top?', '/v1/users?page=2#top?'],
		['https://api.example.com/v1', 'users:batchGet', '/v1/users:batchGet'],
		['https://api.example.com/v1', '//other.example.com/a', '/v1//other.example.com/a'],
		['https://api.example.com', '@other.example.com', '/@other.example.com'],
		['https://api.example.com', '\\other.example.com', '/\\other.example.com'],
		['https://api.example.com', ' https://other.example.com', '/ https://other.example.com'],
	])('%s comes before %s', async (baseUrl, path, expected) => {
		const { client, sent } = recorder({ baseUrl })
		await client.get(path)
		expect(sent).toEqual([`GET ${API}${expected}`])
		expect(new URL(sent[0]?.slice(4) ?? '').origin).toBe(API)
	})

	it('can be a URL, and does not apply to absolute URLs', async () => {
		const { client, sent } = recorder({ baseUrl: new URL(`${API}/v1`) })
		await client.get('a')
		await client.get(`${API}/v2/b`)
		await client.get(new URL('https://other.example.com/c'))
		expect(sent).toEqual([`GET ${API}/v1/a`, `GET ${API}/v2/b`, 'GET https://other.example.com/c'])
	})

	it('is what circuitBreaker returns the breaker of by default', async () => {
		const { client } = recorder({ baseUrl: `${API}/v1` })
		expect(client.circuitBreaker()).toBe(client.circuitBreaker(API))
		client.circuitBreaker()?.isolate()
		expect(await failure(client.get('a'))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
	})

	it.each([
		['"/v1"', 'got "/v1"'],
		['"api.example.com"', 'got "api.example.com"'],
		['"ftp://api.example.com"', 'got "ftp://api.example.com"'],
		['7', 'got "7"'],
		['"https://user:secret@api.example.com"', 'got "https://api.example.com"'],
		['"https://api.example.com/?key=secret"', 'got "https://api.example.com/"'],
	])('%s is rejected, without its secrets in the message', (value, message) => {
		const create = made(`{"baseUrl":${value}}`)
		expect(create).toThrow(/^Invalid option "baseUrl": expected a URL such as 'https:/)
		expect(create).toThrow(message)
		expect(create).not.toThrow('secret')
	})
})

describe('headers of a client', () => {
	it('are sent with every request, and a request replaces them by name or removes them', async () => {
		const { client, headers } = recorder({ headers: { 'X-Team': 'red', 'x-app': 'shop' } })
		await client.get(API)
		await client.get(API, { headers: { 'x-team': 'blue' } })
		await client.get(API, { headers: new Headers({ 'x-team': 'green' }) })
		await client.get(API, { headers: [['X-TEAM', 'gray']] })
		await client.get(API, { headers: { 'X-TEAM': undefined, 'x-own': 'mine' } })
		expect(headers).toEqual([
			{ 'x-team': 'red', 'x-app': 'shop' },
			{ 'x-team': 'blue', 'x-app': 'shop' },
			{ 'x-team': 'green', 'x-app': 'shop' },
			{ 'x-team': 'gray', 'x-app': 'shop' },
			{ 'x-app': 'shop', 'x-own': 'mine' },
		])
	})

	it.each([
		['a Headers object', new Headers({ 'x-team': 'red' })],
		['pairs', [['x-team', 'red']] as [string, string][]],
		['an object with undefined', { 'x-team': 'red', 'x-none': undefined }],
		['a function', () => ({ 'x-team': 'red' })],
		['an async function', async () => new Headers({ 'x-team': 'red' })],
	])('can be %s', async (_, given) => {
		for (const cache of [false, true]) {
			const { client, headers } = recorder({ headers: given, cache })
			await client.get(API, { headers: { 'x-other': undefined } })
			expect(headers).toEqual([{ 'x-team': 'red' }])
		}
	})

	it('are not sent to another origin than that of baseUrl', async () => {
		let calls = 0
		for (const given of [
			{ authorization: 'Bearer secret' },
			() => ({ authorization: `Bearer ${++calls}` }),
		]) {
			const { client, headers } = recorder({
				baseUrl: `${API}/v1`,
				headers: given,
				searchParams: { key: 'k' },
			})
			await client.get('https://other.example.com/a', { headers: { 'x-own': 'mine' } })
			await client.get(`http://api.example.com/a`)
			await client.get(`${API}:8443/a`)
			expect(headers).toEqual([{ 'x-own': 'mine' }, {}, {}])
			expect(calls).toBe(0)
			await client.get(`${API}/other-path`)
			expect(headers[3]).toHaveProperty('authorization')
			calls = 0
		}
	})

	it('are sent to every origin without a baseUrl', async () => {
		const { client, headers } = recorder({ headers: { 'user-agent': 'shop' } })
		await client.get('https://a.example.com')
		await client.get('https://b.example.com')
		expect(headers).toEqual([{ 'user-agent': 'shop' }, { 'user-agent': 'shop' }])
	})

	it('take precedence over the content-type of json', async () => {
		for (const headers of [
			{ 'content-type': 'application/vnd.api+json' },
			async () => ({ 'content-type': 'application/vnd.api+json' }),
		]) {
			const { client, headers: sent } = recorder({ headers })
			await client.post(API, { json: {} })
			expect(sent).toEqual([{ 'content-type': 'application/vnd.api+json' }])
		}
	})

	it('are those at the time of the call, if the caller changes the object afterwards', async () => {
		const { client, headers } = recorder({ headers: async () => ({ 'x-team': 'red' }) })
		const own = new Headers({ 'x-id': '1' })
		const plain = { 'x-id': '2' }
		const calls = [client.get(API, { headers: own }), client.get(API, { headers: plain })]
		own.set('x-id', '3')
		plain['x-id'] = '3'
		await Promise.all(calls)
		expect(headers.map((sent) => sent['x-id'])).toEqual(['1', '2'])
	})

	it.each([
		['"Bearer secret"', '"headers"'],
		['7', '"headers"'],
		['null', '"headers"'],
		['{"x y":"secret"}', `"headers['x y']"`],
		['{"x-y":"sec\\u0000ret"}', `"headers['x-y']"`],
		['[["x-y"]]', '"headers"'],
	])('%s are rejected, without their values in the message', async (value, option) => {
		const create = made(`{"headers":${value}}`)
		expect(create).toThrow(`Invalid option ${option}: expected headers such as`)
		expect(create).not.toThrow(/sec.?ret/)
	})
})

describe('a function for headers', () => {
	it('is called once per request, and not again for retries', async () => {
		let calls = 0
		const { client, headers } = recorder(
			{ headers: () => ({ 'x-call': String(++calls) }), baseDelayMs: 0, maxRetries: 1 },
			() => new Response('', { status: headers.length % 2 ? 503 : 200 }),
		)
		await client.get(API)
		await client.get(API)
		expect(headers.map((sent) => sent['x-call'])).toEqual(['1', '1', '2', '2'])
	})

	it('may return nothing', async () => {
		const none: unknown = () => undefined
		const { client, headers } = recorder({ headers: none as () => Record<string, string> })
		await client.get(API)
		expect(headers).toEqual([{}])
	})

	it('a function for headers that fails rejects the call with its own error, sends nothing and closes the body', async () => {
		const problem = new Error('no token')
		for (const failing of [
			() => {
				throw problem
			},
			() => Promise.reject(problem),
		]) {
			const { client, sent } = recorder({ headers: failing })
			const reasons: unknown[] = []
			const body = new ReadableStream({ cancel: (reason) => void reasons.push(reason) })
			expect(await failure(client.post(API, { body }))).toBe(problem)
			expect(reasons).toEqual([problem])
			expect(sent).toEqual([])
			expect(client.stats.requests).toBe(0)
		}
	})

	it('a function for headers that returns something else rejects the call, without the value in the message', async () => {
		const wrong: unknown = () => 'Bearer secret'
		const { client, sent } = recorder({ headers: wrong as () => Record<string, string> })
		const error = await failure(client.get(API))
		expect(error).toMatchObject({ code: 'YAOKI_INVALID_OPTION', optionPath: 'headers' })
		expect(String(error)).not.toContain('secret')
		expect(sent).toEqual([])
	})

	it("ends with the caller's abort, with the timeout of an attempt, and with the deadline", async () => {
		const runtime = virtualRuntime()
		const { client, sent } = recorder({ headers: () => new Promise(() => {}), timeout: 500, runtime })
		const controller = new AbortController()
		const aborted = failure(client.get(API, { signal: controller.signal }))
		const late = failure(client.get(API))
		const limited = failure(client.get(API, { yaoki: { deadline: Deadline.after(200, { runtime }) } }))
		controller.abort(new Error('left the page'))
		expect(await aborted).toMatchObject({ message: 'left the page' })
		await runtime.advance(200)
		expect(await limited).toMatchObject({ code: 'YAOKI_DEADLINE_EXCEEDED' })
		await runtime.advance(300)
		expect(await late).toMatchObject({ code: 'YAOKI_TIMEOUT', policy: 'headers', timeoutMs: 500 })
		expect(sent).toEqual([])
	})

	it('shortens the rest of the total timeout', async () => {
		const runtime = virtualRuntime()
		const token = deferred<Record<string, string>>()
		const { client } = recorder(
			{ headers: () => token.promise, timeout: 500, totalTimeoutMs: 700, maxRetries: 0, runtime },
			(_, { signal }) =>
				new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
		)
		const error = failure(client.get(API))
		await runtime.advance(400)
		token.resolve({})
		await runtime.advance(299)
		expect(client.stats.failures).toBe(0)
		await runtime.advance(1)
		expect(await error).toMatchObject({ code: 'YAOKI_TIMEOUT', timeoutMs: 700 })
	})

	it('separates cached responses by what it returns', async () => {
		let user = 'Ada'
		const { client } = recorder(
			{ headers: () => ({ authorization: user }), cache: true },
			(_, { headers }) => new Response(new Headers(headers).get('authorization')),
		)
		expect(await client.get(API).text()).toBe('Ada')
		client.circuitBreaker(API)?.isolate()
		expect(await client.get(API).text()).toBe('Ada')
		user = 'Bob'
		expect(await failure(client.get(API))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
	})
})

describe('searchParams', () => {
	it.each([
		['a string', 'b=2&c', 'b=2&c'],
		['a string with a question mark', '?b=2', 'b=2'],
		[
			'URLSearchParams',
			new URLSearchParams([
				['b', '2'],
				['b', '3'],
			]),
			'b=2&b=3',
		],
		['an object', { b: 2, c: true, d: 'x y&z', e: undefined, f: '' }, 'b=2&c=true&d=x+y%26z&f='],
		['an object whose values are all undefined', { b: undefined }, ''],
	])('can be %s', async (_, searchParams, query) => {
		const { client, sent } = recorder()
		await client.get(`${API}/a`, { searchParams })
		await client.get(`${API}/a?z=1?#top?`, { searchParams })
		const [alone, added] = [query && `?${query}`, query && `&${query}`]
		expect(sent).toEqual([`GET ${API}/a${alone}`, `GET ${API}/a?z=1?${added}#top?`])
	})

	it('searchParams of a request replace those in the URL, and these replace those of the client', async () => {
		const { client, sent } = recorder({ searchParams: { a: 'client', b: 'client', c: 'client' } })
		await client.get(`${API}/?b=url&c=url&%63=again`, { searchParams: { c: 'request' } })
		await client.get(API, { searchParams: { a: undefined, b: undefined } })
		expect(sent).toEqual([`GET ${API}/?a=client&b=url&c=request`, `GET ${API}?c=client`])
	})

	it('do not change the rest of a query, which may be signed', async () => {
		const { client, sent } = recorder({ searchParams: { page: 1 } })
		await client.get(`${API}/?q=a%20b+c&&flag&sig=x/y=`, { searchParams: 'raw=%7e' })
		expect(sent).toEqual([`GET ${API}/?page=1&q=a%20b+c&&flag&sig=x/y=&raw=%7e`])
	})

	it('searchParams of a client are not sent to another origin than that of baseUrl', async () => {
		const { client, sent } = recorder({ baseUrl: API, searchParams: { key: 'secret' } })
		await client.get('https://other.example.com/', { searchParams: { a: 1 } })
		await client.get('a')
		expect(sent).toEqual(['GET https://other.example.com/?a=1', `GET ${API}/a?key=secret`])
	})

	it.each([
		['7', '"searchParams": expected a string, URLSearchParams or an object, got 7'],
		['null', '"searchParams": expected'],
		['["a"]', '"searchParams": expected'],
		['{"a":null}', '"searchParams.a": expected a string, number or boolean'],
		['{"a":["b","c"]}', 'for several values, use URLSearchParams'],
		['{"a":{}}', '"searchParams.a": expected'],
	])('%s are rejected, by the client and by a request', async (value, message) => {
		const searchParams = JSON.parse(value)
		expect(() => new ResilientHttpClient({ searchParams })).toThrow(
			`Invalid option ${message}`.replace(/^.*(?=for several)/, ''),
		)
		const { client, sent } = recorder()
		await expect(client.get(API, { searchParams })).rejects.toThrow(message)
		await expect(client.get(API, { searchParams: { a: Number.NaN } })).rejects.toThrow('got NaN')
		expect(sent).toEqual([])
	})
})
