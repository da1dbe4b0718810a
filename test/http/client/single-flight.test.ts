import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Deadline, explain } from 'yaoki'
import { type HttpClientOptions, isCachedResponse, ResilientHttpClient } from 'yaoki/http'
import { virtualRuntime } from 'yaoki/testing'
import { MAX_SHARED_BYTES } from '../../../src/http/client/single-flight.ts'
import { deferred } from '../deferred.ts'
import { answer, hang, type Step } from '../faults/fault-server.ts'
import { failure, type SetupOptions, setup, textOf } from './setup.ts'

const SHARED: SetupOptions = { singleFlight: true }

/** A server that responds when the test allows it. */
async function held(body = 'fine', options: SetupOptions = {}) {
	const allowed = deferred()
	const answered = answer({ body, after: allowed.promise })
	return {
		allow: () => allowed.resolve(undefined),
		...(await setup(undefined, answered, { ...SHARED, ...options })),
	}
}

/** A client whose `fetch` the test controls: requests are recorded, and each responds with `respond`. */
function stubbed(
	options: HttpClientOptions,
	respond: (n: number, init?: RequestInit) => Response | Promise<Response>,
) {
	let sent = 0
	const client = new ResilientHttpClient({
		singleFlight: true,
		maxRetries: 0,
		fetch: async (_, init) => respond(++sent, init),
		...options,
	})
	return { client, sent: () => sent }
}

/** Lets everything that is pending in microtasks run. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('singleFlight', () => {
	it('sends concurrent equal GETs once, and each caller reads its own response', async () => {
		const { client, server, allow } = await held('{"id":7}')
		const url = server.url('/users/7')
		const calls = Array.from({ length: 10 }, () => client.get(url))
		await server.requested(1)
		allow()
		const responses = await Promise.all(calls)
		expect(await Promise.all(responses.map((response) => response.json()))).toEqual(Array(10).fill({ id: 7 }))
		expect(new Set(responses).size).toBe(10)
		for (const response of responses) {
			expect(response).toMatchObject({ status: 200, url })
			expect(explain(response)?.stop).toBe('success')
		}
		expect(server.requests).toHaveLength(1)
		expect(client.stats).toMatchObject({ requests: 1, attempts: 1, shared: 9, failures: 0 })
	})

	it('is off by default', async () => {
		const { client, server } = await setup(undefined, answer({ body: 'fine' }))
		await Promise.all([textOf(client.get(server.url())), textOf(client.get(server.url()))])
		expect([server.requests.length, client.stats.shared]).toEqual([2, 0])
	})

	it('sends a later GET again, also while the body of the first is still read', async () => {
		const { client, sent } = stubbed({}, (n) => new Response(`body ${n}`))
		const first = await client.get('https://a.test/')
		const second = await client.get('https://a.test/')
		expect([await first.text(), await second.text(), sent()]).toEqual(['body 1', 'body 2', 2])
	})

	it('shares a response only between equal requests of the same principal', async () => {
		const value = fc.constantFrom('', 'a', 'b', '","')
		const headers = fc.dictionary(fc.constantFrom('authorization', 'cookie', 'accept', 'x-tenant'), value)
		const request = fc.record({
			path: fc.constantFrom('/', '/?a=1'),
			headers,
			user: fc.constantFrom('ada', 'bob'),
		})
		await fc.assert(
			fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 6 }), async (requests) => {
				const seen = new Set<string>()
				const allowed = deferred()
				let user = ''
				const { client, sent } = stubbed(
					{ principal: () => user, bulkhead: false, deadlineHeader: false },
					async (_, init) => {
						await allowed.promise
						return new Response(JSON.stringify([...new Headers(init?.headers)]))
					},
				)
				const bodies: Promise<string>[] = []
				for (const { path, headers: own, user: who } of requests) {
					user = who
					seen.add(JSON.stringify([path, who, [...new Headers(own)]]))
					bodies.push(client.get(`https://a.test${path}`, { headers: own }).text())
					await turn()
				}
				allowed.resolve(undefined)
				// Every caller has the response to its own headers.
				expect(await Promise.all(bodies)).toEqual(
					requests.map(({ headers: own }) => JSON.stringify([...new Headers(own)])),
				)
				expect(sent()).toBe(seen.size)
			}),
			{ numRuns: 40 },
		)
	})

	it.each([
		['a POST', { method: 'POST' }],
		['a request with its own options', { yaoki: { maxRetries: 0 } }],
		['a request with another init', { credentials: 'omit' }],
	] as const)('does not share %s', async (_, init) => {
		const { client, sent } = stubbed({}, () => new Response('fine'))
		await Promise.all([1, 2].map(() => textOf(client.request('https://a.test/', init))))
		expect(sent()).toBe(2)
	})

	it("rejects only the caller that aborts, and the others' request goes on", async () => {
		const { client, server, allow } = await held()
		const caller = new AbortController()
		const aborted = failure(client.get(server.url(), { signal: caller.signal }))
		const other = textOf(client.get(server.url()))
		await server.requested(1)
		const reason = new Error('never mind')
		caller.abort(reason)
		expect(await aborted).toBe(reason)
		allow()
		expect(await other).toBe('fine')
		expect(server.requests).toHaveLength(1)
	})

	it('aborts the request when all callers have aborted, and the next caller sends a new one', async () => {
		const { client, server } = await setup(undefined, [hang(), answer({ body: 'fine' })], SHARED)
		const callers = [new AbortController(), new AbortController()]
		const calls = callers.map(({ signal }) => failure(client.get(server.url(), { signal })))
		await server.requested(1)
		for (const caller of callers) caller.abort(new Error('never mind'))
		expect(await Promise.all(calls)).toMatchObject(Array(2).fill({ message: 'never mind' }))
		await server.aborted(1)
		expect(await textOf(client.get(server.url()))).toBe('fine')
	})

	it('sends nothing for a caller whose signal is aborted already', async () => {
		const { client, server } = await setup(undefined, answer(), SHARED)
		const reason = new Error('never mind')
		expect(await failure(client.get(server.url(), { signal: AbortSignal.abort(reason) }))).toBe(reason)
		await turn()
		expect(server.requests).toEqual([])
	})

	it('ends only the caller whose deadline expires', async () => {
		const clock = virtualRuntime()
		const allowed = deferred()
		let deadline: Deadline | undefined = Deadline.after(500, { runtime: clock })
		const { client, sent } = stubbed({ runtime: clock, getContext: () => ({ deadline }) }, async () => {
			await allowed.promise
			return new Response('fine')
		})
		const hurried = failure(client.get('https://a.test/'))
		await turn()
		deadline = undefined
		const patient = textOf(client.get('https://a.test/'))
		await turn()
		await clock.advance(500)
		expect(await hurried).toMatchObject({ name: 'DeadlineExceededError' })
		allowed.resolve(undefined)
		expect(await patient).toBe('fine')
		expect(sent()).toBe(1)
		expect(clock.pendingTimers).toBe(0)
	})

	it('shares the final error, and the retries before it', async () => {
		const { client, server } = await setup(undefined, answer({ status: 503, body: 'busy' }), {
			...SHARED,
			maxRetries: 1,
		})
		const errors = await Promise.all([1, 2, 3].map(() => failure(client.get(server.url()))))
		expect(errors[0]).toMatchObject({ statusCode: 503, body: 'busy' })
		expect(new Set(errors).size).toBe(1)
		expect(explain(errors[0])?.attempts).toHaveLength(2)
		expect(server.requests).toHaveLength(2)
		expect(client.stats).toMatchObject({ requests: 1, failures: 1, attempts: 2 })
	})

	it.each([
		['is larger than 1 MB', { body: 'x'.repeat(MAX_SHARED_BYTES + 1) }],
		['is an event stream', { body: 'data: 1\n\n', headers: { 'content-type': 'text/event-stream' } }],
	])('gives a body that %s to one caller, and the others send their own requests', async (_, what) => {
		const { client, server } = await setup(undefined, answer(what), SHARED)
		const texts = await Promise.all([1, 2, 3].map(() => textOf(client.get(server.url()))))
		expect(texts.map((text) => text === what.body)).toEqual([true, true, true])
		expect(server.requests).toHaveLength(3)
		expect(client.stats).toMatchObject({ requests: 3, shared: 0 })
	})

	it('applies the timeout of the attempt to a shared body', async () => {
		const begun = deferred()
		const slow: Step = {
			async play(exchange) {
				await exchange.sendHead(200, {})
				await exchange.send('one, ')
				begun.resolve(undefined)
			},
		}
		const { client, server, clock } = await setup(undefined, slow, {
			...SHARED,
			timeout: 1_000,
			maxRetries: 0,
		})
		const calls = [1, 2].map(() => failure(client.get(server.url())))
		await begun.promise
		// The head arrives at the client after it was sent.
		while (client.stats.origins[server.origin]?.inFlight) await turn()
		await turn()
		await clock.advance(1_000)
		expect(await Promise.all(calls)).toMatchObject(Array(2).fill({ name: 'TimeoutError' }))
		await server.aborted(1)
	})

	it('ends the body of a single caller with its abort', async () => {
		const { client, server } = await setup(undefined, hang('body'), SHARED)
		const caller = new AbortController()
		const response = await client.get(server.url(), { signal: caller.signal })
		const text = failure(response.text())
		const reason = new Error('never mind')
		caller.abort(reason)
		expect(await text).toBe(reason)
		await server.aborted(1)
	})

	it('marks shared responses of the cache as cached', async () => {
		const { client, server } = await setup(undefined, answer({ body: 'fine' }), { ...SHARED, cache: true })
		await textOf(client.get(server.url()))
		client.circuitBreaker(server.origin)?.isolate()
		const responses = await Promise.all([client.get(server.url()), client.get(server.url())])
		expect(responses.map(isCachedResponse)).toEqual([true, true])
		expect(await Promise.all(responses.map((response) => response.text()))).toEqual(['fine', 'fine'])
	})

	it('does not mix up the users of clients that extend the same client', async () => {
		const { client, sent } = stubbed(
			{},
			(_, init) => new Response(new Headers(init?.headers).get('authorization')),
		)
		const texts = ['ada', 'bob'].map((authorization) =>
			client.extend({ headers: { authorization } }).get('https://a.test/').text(),
		)
		expect([await Promise.all(texts), sent()]).toEqual([['ada', 'bob'], 2])
	})

	it('needs a principal beside onRequest, and must be true or false', () => {
		const onRequest = () => {}
		const created = (options: object) => () => new ResilientHttpClient(options)
		expect(created({ singleFlight: true, onRequest })).toThrow(
			expect.objectContaining({ optionPath: 'principal' }),
		)
		created({ singleFlight: true, principal: () => 'the service', onRequest })()
		expect(created({ singleFlight: 'yes' })).toThrow(expect.objectContaining({ optionPath: 'singleFlight' }))
	})
})
