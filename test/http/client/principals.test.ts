import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isCachedResponse, ResilientHttpClient } from 'yaoki/http'
import { CREDENTIAL_HEADERS } from '../../../src/http/headers/request-headers.ts'
import { answer, type FaultServer, type Step } from '../faults/fault-server.ts'
import type { SeenRequest } from '../faults/ledger.ts'
import { FETCHES, failure, serve, setup, textOf } from './setup.ts'

/** The headers by which the test server identifies principals; it names the last one in Vary. */
const OF_THE_PRINCIPAL = ['authorization', 'cookie', 'x-api-key', 'accept-language'] as const

type Principal = Readonly<Partial<Record<(typeof OF_THE_PRINCIPAL)[number], string>>>

/** Responds with the principal's identity. */
const mirror = ({ headers }: SeenRequest): Step =>
	answer({
		headers: { vary: 'Accept-Language, Accept-Encoding' },
		body: JSON.stringify(OF_THE_PRINCIPAL.map((name) => headers[name] ?? null)),
	})

const answerFor = (principal: Principal): string =>
	JSON.stringify(OF_THE_PRINCIPAL.map((name) => principal[name] ?? null))

// Few values, so that many principals differ in one header only; and some that a careless key would mix up.
const value = fc.constantFrom('a', 'b', 'a,b', 'a|b', '","', 'null', 'A', 'a b')

const language = fc.constantFrom('en', 'ja', 'en, ja', 'EN')

const principal: fc.Arbitrary<Principal> = fc.record(
	{ authorization: value, cookie: value, 'x-api-key': value, 'accept-language': language },
	{ requiredKeys: ['accept-language'] },
)

const headersOf = (one: Principal): Record<string, string> => ({ ...one })

const clientOf = (fetch: typeof globalThis.fetch | undefined) =>
	new ResilientHttpClient({ fetch, cache: true, maxRetries: 0 })

/** What each of them receives: the text if it came from the cache, undefined if the request was rejected. */
async function given(client: ResilientHttpClient, server: FaultServer, who: readonly Principal[]) {
	const texts: (string | undefined)[] = []
	for (const one of who) {
		const response = await client.get(server.url('/me'), { headers: headersOf(one) }).catch(() => undefined)
		expect(response === undefined || isCachedResponse(response)).toBe(true)
		texts.push(await response?.text())
	}
	return texts
}

describe.each(FETCHES)('principals over %s', (_, fetch) => {
	it('receive only their own responses', async () => {
		const server = await serve(mirror)
		const principals = fc.array(principal, { minLength: 1, maxLength: 5 })
		await fc.assert(
			fc.asyncProperty(principals, principals, async (known, strangers) => {
				const client = clientOf(fetch)
				await Promise.all(known.map((one) => client.get(server.url('/me'), { headers: headersOf(one) })))
				client.circuitBreaker(server.origin)?.isolate()
				expect(await given(client, server, known)).toEqual(known.map(answerFor))
				const answers = known.map(answerFor)
				const expected = strangers.map(answerFor).map((text) => (answers.includes(text) ? text : undefined))
				expect(await given(client, server, strangers)).toEqual(expected)
			}),
			{ numRuns: 60 },
		)
	})

	it.each(CREDENTIAL_HEADERS)('are distinguished by %s, though the server does not name it', async (name) => {
		const server = await serve(({ headers }) => answer({ body: `for ${headers[name]}` }))
		const client = clientOf(fetch)
		await client.get(server.url('/me'), { headers: { [name]: 'Ada' } })
		client.circuitBreaker(server.origin)?.isolate()
		const get = (headers: Record<string, string>) => client.get(server.url('/me'), { headers })
		expect(await textOf(get({ [name.toUpperCase()]: 'Ada' }))).toBe('for Ada')
		expect(await failure(get({ [name]: 'Bob' }))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(await failure(get({}))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
	})

	it('are distinguished in any form of headers', async () => {
		const server = await serve(mirror)
		const client = clientOf(fetch)
		await client.get(server.url('/me'), { headers: new Headers({ authorization: 'Ada' }) })
		client.circuitBreaker(server.origin)?.isolate()
		const forms = [{ Authorization: ' Ada ' }, [['AUTHORIZATION', 'Ada']] satisfies [string, string][]]
		for (const headers of forms)
			expect(isCachedResponse(await client.get(server.url('/me'), { headers }))).toBe(true)
	})

	it('are not mixed up if the caller changes the headers during the request', async () => {
		const { client, server } = await setup(fetch, mirror, { cache: true })
		const headers = new Headers({ authorization: 'Ada' })
		const answered = client.get(server.url('/me'), { headers })
		headers.set('authorization', 'Bob')
		await answered
		client.circuitBreaker(server.origin)?.isolate()
		const get = (authorization: string) => client.get(server.url('/me'), { headers: { authorization } })
		expect(await textOf(get('Ada'))).toContain('"Ada"')
		expect(await failure(get('Bob'))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
	})

	it('principals that lost access do not receive their earlier response', async () => {
		const { client, server } = await setup(fetch, mirror, { cache: true })
		const get = (authorization: string) => client.get(server.url('/me'), { headers: { authorization } })
		await get('Ada')
		await get('Bob')
		server.play(answer({ status: 403, body: 'not any more' }))
		await failure(get('Bob'))
		client.circuitBreaker(server.origin)?.isolate()
		expect(await failure(get('Bob'))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(await textOf(get('Ada'))).toContain('"Ada"')
	})

	it('do not receive what a redirect led another one to', async () => {
		const pages = { '/ada': answer({ body: 'for ada' }), '/bob': answer({ body: 'for bob' }) }
		const server = await serve((request) => {
			const { path, headers } = request
			if (path === '/ada' || path === '/bob') return pages[path]
			const vary = { vary: 'x-user', 'cache-control': 'no-store' }
			return answer({ status: 302, headers: { location: `/${headers['x-user']}`, ...vary } })
		})
		const client = clientOf(fetch)
		const get = (user: string) => client.get(server.url('/me'), { headers: { 'x-user': user } })
		expect(await textOf(get('ada'))).toBe('for ada')
		client.circuitBreaker(server.origin)?.isolate()
		expect(await failure(get('bob'))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(client.stats.cache?.entries).toBe(0)
	})

	it('do not receive a response from before the URL was redirected', async () => {
		const { client, server } = await setup(fetch, mirror, { cache: true })
		await client.get(server.url('/me'))
		server.play({ '/me': answer({ status: 302, headers: { location: '/login' } }), '/login': answer() })
		await client.get(server.url('/me'))
		client.circuitBreaker(server.origin)?.isolate()
		expect(await failure(client.get(server.url('/me')))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
	})

	it('are distinguished by the principal option, which is called once per request', async () => {
		const seen: string[] = []
		const principal = ({ method, url, headers }: { method: string; url: string; headers: Headers }) => {
			seen.push(`${method} ${new URL(url).pathname}`)
			return headers.get('x-user') ?? undefined
		}
		const privately = answer({ headers: { 'cache-control': 'private' }, body: 'for ada' })
		const { client, server } = await setup(fetch, privately, { cache: true, principal })
		const get = (headers: Record<string, string>) => client.get(server.url('/me'), { headers })
		await get({ 'x-user': 'ada' })
		client.circuitBreaker(server.origin)?.isolate()
		expect(await textOf(get({ 'x-user': 'ada' }))).toBe('for ada')
		expect(await failure(get({ 'x-user': 'bob' }))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(await failure(get({}))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(seen).toEqual(Array(4).fill('GET /me'))
	})

	it('principals of a principal function that returns a promise are rejected, because all promises look alike', async () => {
		const principal: unknown = async () => 'ada'
		const options = { cache: true, principal: principal as () => string }
		const { client, server } = await setup(fetch, mirror, options)
		expect(await failure(client.get(server.url('/me')))).toMatchObject({
			name: 'InvalidOptionError',
			optionPath: 'principal(request)',
		})
		expect(server.requests.length).toBe(0)
	})

	it('principals of a URL with another query are separate', async () => {
		const { client, server } = await setup(fetch, ({ path }) => answer({ body: path }), { cache: true })
		await client.get(server.url('/me?user=ada'))
		client.circuitBreaker(server.origin)?.isolate()
		expect(await textOf(client.get(server.url('/me?user=ada')))).toBe('/me?user=ada')
		expect(await failure(client.get(server.url('/me?user=bob')))).toMatchObject({
			code: 'YAOKI_CIRCUIT_OPEN',
		})
	})
})
