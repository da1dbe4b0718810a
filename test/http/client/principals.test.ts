import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type HttpResponse, isCachedResponse, ResilientHttpClient, type Transport } from 'yaoki/http'
import { answer, type FaultServer, type Step } from '../faults/fault-server.ts'
import type { SeenRequest } from '../faults/ledger.ts'
import { failure, serve, setting, TRANSPORTS, textOf } from './setting.ts'

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

const clientOf = (transport: Transport | undefined) =>
	new ResilientHttpClient<HttpResponse>({ transport, cache: true, maxRetries: 0 })

/** What each of them receives: the text if it came from the cache, undefined if the request was rejected. */
async function given(
	client: ResilientHttpClient<HttpResponse>,
	server: FaultServer,
	who: readonly Principal[],
) {
	const texts: (string | undefined)[] = []
	for (const one of who) {
		const response = await client.get(server.url('/me'), { headers: headersOf(one) }).catch(() => undefined)
		expect(response === undefined || isCachedResponse(response)).toBe(true)
		texts.push(await response?.text())
	}
	return texts
}

describe.each(TRANSPORTS)('principals over %s', (_, transport) => {
	it('receive only their own responses', async () => {
		const server = await serve(mirror)
		const principals = fc.array(principal, { minLength: 1, maxLength: 5 })
		await fc.assert(
			fc.asyncProperty(principals, principals, async (known, strangers) => {
				const client = clientOf(transport)
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

	it.each(['authorization', 'cookie', 'x-api-key', 'api-key', 'x-auth-token'])(
		'are distinguished by %s, though the server does not name it',
		async (name) => {
			const server = await serve(({ headers }) => answer({ body: `for ${headers[name]}` }))
			const client = clientOf(transport)
			await client.get(server.url('/me'), { headers: { [name]: 'Ada' } })
			client.circuitBreaker(server.origin)?.isolate()
			const get = (headers: Record<string, string>) => client.get(server.url('/me'), { headers })
			expect(await textOf(get({ [name.toUpperCase()]: 'Ada' }))).toBe('for Ada')
			expect(await failure(get({ [name]: 'Bob' }))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
			expect(await failure(get({}))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		},
	)

	it('are distinguished in any form of headers', async () => {
		const server = await serve(mirror)
		const client = clientOf(transport)
		await client.get(server.url('/me'), { headers: new Headers({ authorization: 'Ada' }) })
		client.circuitBreaker(server.origin)?.isolate()
		const forms = [{ Authorization: ' Ada ' }, [['AUTHORIZATION', 'Ada']] satisfies [string, string][]]
		for (const headers of forms)
			expect(isCachedResponse(await client.get(server.url('/me'), { headers }))).toBe(true)
	})

	it('are not mixed up if the caller changes the headers during the request', async () => {
		const { client, server } = await setting(transport, mirror, { cache: true })
		const headers = new Headers({ authorization: 'Ada' })
		const answered = client.get(server.url('/me'), { headers })
		headers.set('authorization', 'Bob')
		await answered
		client.circuitBreaker(server.origin)?.isolate()
		const get = (authorization: string) => client.get(server.url('/me'), { headers: { authorization } })
		expect(await textOf(get('Ada'))).toContain('"Ada"')
		expect(await failure(get('Bob'))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
	})

	it('that lost access do not receive their earlier response', async () => {
		const { client, server } = await setting(transport, mirror, { cache: true })
		const get = (authorization: string) => client.get(server.url('/me'), { headers: { authorization } })
		await get('Ada')
		await get('Bob')
		server.play(answer({ status: 403, body: 'not any more' }))
		await failure(get('Bob'))
		client.circuitBreaker(server.origin)?.isolate()
		expect(await failure(get('Bob'))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(await textOf(get('Ada'))).toContain('"Ada"')
	})

	it('of a URL with another query are separate', async () => {
		const { client, server } = await setting(transport, ({ path }) => answer({ body: path }), { cache: true })
		await client.get(server.url('/me?user=ada'))
		client.circuitBreaker(server.origin)?.isolate()
		expect(await textOf(client.get(server.url('/me?user=ada')))).toBe('/me?user=ada')
		expect(await failure(client.get(server.url('/me?user=bob')))).toMatchObject({
			code: 'YAOKI_CIRCUIT_OPEN',
		})
	})
})
