import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { type AttemptRequest, type ResilientFetchOptions, ResilientHttpClient } from 'yaoki/http'
import { serve } from '../client/setup.ts'
import { deferred } from '../deferred.ts'
import { answer, hang, type Step } from '../faults/fault-server.ts'
import { BUSY, FINE, failure, fetching, interrupted, optionError, setup } from './setup.ts'

/** A hook that never settles, and a promise of its request. */
function hanging() {
	const { promise: asked, resolve } = deferred<AttemptRequest>()
	const hook = (request: AttemptRequest) => {
		resolve(request)
		return new Promise<never>(() => {})
	}
	return { asked, hook }
}

/** A body that records whether it was read to its end or cancelled. */
function watched(text = 'unread') {
	const ends: string[] = []
	const body = new ReadableStream<Uint8Array>(
		{
			pull(controller) {
				controller.enqueue(new TextEncoder().encode(text))
				controller.close()
				ends.push('read')
			},
			cancel: () => void ends.push('cancelled'),
		},
		{ highWaterMark: 0 },
	)
	return { body, ends }
}

describe('onRequest', () => {
	test('sets another header for each attempt, after awaiting it', async () => {
		let tokens = 0
		const { fetch, url, server } = await setup([BUSY, BUSY, FINE], {
			async onRequest({ headers, attempt }) {
				await Promise.resolve()
				headers.set('authorization', `token ${++tokens} of attempt ${attempt}`)
			},
		})
		expect((await fetch(url, { headers: { 'x-own': 'yes' } })).status).toBe(200)
		expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
			'token 1 of attempt 0',
			'token 2 of attempt 1',
			'token 3 of attempt 2',
		])
		expect(server.requests.map(({ headers }) => headers['x-own'])).toEqual(['yes', 'yes', 'yes'])
	})

	test('receives what is sent: URL with query, method, body, and the headers of the package', async () => {
		let seen: AttemptRequest | undefined
		const { fetch, server } = await setup(FINE, {
			idempotency: 'auto',
			onRequest(request) {
				seen = request
			},
		})
		const url = server.url('/orders?to=7')
		await fetch(url, { method: 'POST', body: '2 tea' })
		expect(seen).toMatchObject({ url, method: 'POST', body: '2 tea', attempt: 0 })
		expect(seen?.headers.get('idempotency-key')).toBe(server.requests[0]?.headers['idempotency-key'])
		expect(seen?.headers.has('x-request-timeout-ms')).toBe(true)
		expect(seen?.signal.aborted).toBe(false)
	})

	test('may sign all headers: none is changed after it, the remaining time neither', async () => {
		let signed: string | null | undefined
		const { fetch, url, server, time } = await setup(FINE, {
			timeout: 2_000,
			async onRequest({ headers }) {
				signed = headers.get('x-request-timeout-ms')
				await time.advance(500)
			},
		})
		expect((await fetch(url)).status).toBe(200)
		expect(signed).toBe('2000')
		expect(server.requests[0]?.headers['x-request-timeout-ms']).toBe(signed)
	})

	test('receives the stream that a body function created for the attempt', async () => {
		const seen: unknown[] = []
		const created: unknown[] = []
		const { fetch, url, server } = await setup([BUSY, FINE], { onRequest: ({ body }) => seen.push(body) })
		const body = () => {
			created.push(new Blob(['whole']).stream())
			return created.at(-1) as ReadableStream<Uint8Array<ArrayBuffer>>
		}
		await fetch(url, { method: 'PUT', body })
		expect(seen).toEqual(created)
		expect(server.requests.map((request) => request.body)).toEqual(['whole', 'whole'])
	})

	test('runs once per attempt over redirects, and its credentials do not reach another origin', async () => {
		const other = await serve(FINE)
		let runs = 0
		const { fetch, server } = await setup(
			{
				'/go': answer({ status: 307, headers: { location: '/on' } }),
				'/on': answer({ status: 307, headers: { location: other.url() } }),
			},
			{
				onRequest({ headers }) {
					runs++
					headers.set('x-api-key', 'secret')
					headers.set('authorization', 'secret')
					headers.set('x-plain', 'yes')
				},
			},
		)
		const go = server.url('/go')
		await fetch(go, { method: 'POST', body: 'order' })
		const withoutBody = new Request(go)
		await fetch(withoutBody)
		expect(runs).toBe(2)
		expect(server.requests.map(({ headers }) => headers['x-api-key'])).toEqual(Array(4).fill('secret'))
		for (const { headers } of other.requests) {
			expect(headers).toMatchObject({ 'x-plain': 'yes' })
			expect(headers).not.toHaveProperty('x-api-key')
			expect(headers).not.toHaveProperty('authorization')
		}
		expect(other.requests.map(({ body }) => body)).toEqual(['order', ''])
	})

	test('does not send its API key to another origin with the body of a Request', async () => {
		const other = await serve(FINE)
		const { fetch, url } = await setup(answer({ status: 303, headers: { location: other.url() } }), {
			onRequest: ({ headers }) => headers.set('x-api-key', 'secret'),
		})
		await fetch(new Request(url, { method: 'POST', body: 'order' }))
		expect(other.requests[0]?.headers).not.toHaveProperty('x-api-key')
	})

	test('runs for each request of a hedge', async () => {
		const tokens: string[] = []
		const { fetch, url, server, time } = await setup([hang(), FINE], {
			hedge: { delayMs: 50 },
			onRequest({ headers }) {
				headers.set('x-token', `${tokens.push('new')}`)
			},
		})
		const asked = fetch(url)
		await server.requested(1)
		await time.advance(50)
		expect(await (await asked).text()).toBe('fine')
		expect(server.requests.map(({ headers }) => headers['x-token'])).toEqual(['1', '2'])
	})

	test.each([
		[
			'throws',
			() => {
				throw new Error('no token')
			},
		],
		['rejects', () => Promise.reject(new Error('no token'))],
	])(
		'onRequest that %s ends the call with its error: nothing is sent, retried or counted',
		async (_, onRequest) => {
			const { fetch, url, server } = await setup(FINE, {
				onRequest,
				circuitBreaker: { failureThreshold: 1 },
				shouldRetry: () => true,
			} as ResilientFetchOptions)
			const error = await failure(fetch(url))
			expect([error.message, explain(error)?.stop, explain(error)?.attempts.length]).toEqual([
				'no token',
				'hook-threw',
				1,
			])
			expect((await failure(fetch(url))).message).toBe('no token')
			expect(server.requests).toEqual([])
		},
	)

	test('onRequest that throws for one request of a hedge ends the call', async () => {
		let runs = 0
		const { fetch, url, server, time } = await setup(hang(), {
			hedge: { delayMs: 50 },
			onRequest() {
				if (++runs === 2) throw new Error('no token')
			},
		})
		const asked = failure(fetch(url))
		await server.requested(1)
		await time.advance(50)
		expect((await asked).message).toBe('no token')
		await server.aborted(1)
	})

	test('onRequest that never settles ends with the timeout of each attempt, and even a POST is tried again', async () => {
		const { asked, hook } = hanging()
		let isFirst = true
		const { fetch, url, server, time } = await setup(FINE, {
			timeout: 1_000,
			onRequest(request) {
				if (!isFirst) return undefined
				isFirst = false
				return hook(request)
			},
		})
		const answered = fetch(url, { method: 'POST', body: new Blob(['order']).stream() })
		const { signal } = await asked
		await time.advance(1_000)
		expect(signal.aborted).toBe(true)
		const response = await answered
		await response.text()
		expect(explain(response)?.attempts).toMatchObject([{ errorType: 'TimeoutError' }, { outcome: 'success' }])
		expect(server.requests.map(({ body }) => body)).toEqual(['order'])
		expect(time.pendingTimers).toBe(0)
	})

	test('ends with the caller: the signal is aborted, the body is closed, and nothing is sent', async () => {
		const { asked, hook } = hanging()
		const { fetch, url, server, time } = await setup(FINE, { onRequest: hook })
		const { body, ends } = watched()
		const caller = new AbortController()
		const answered = failure(fetch(url, { method: 'PUT', body, signal: caller.signal }))
		const { signal } = await asked
		caller.abort(new Error('never mind'))
		expect((await answered).message).toBe('never mind')
		expect([signal.aborted, ends, server.requests.length]).toEqual([true, ['cancelled'], 0])
		expect(time.pendingTimers).toBe(0)
	})

	test('onRequest that settles after the timeout sends nothing, and the body of that attempt is closed', async () => {
		const late = deferred()
		const started = deferred()
		const { body, ends } = watched()
		const { fetch, url, server, time } = await setup(FINE, {
			timeout: 1_000,
			maxRetries: 0,
			onRequest() {
				started.resolve()
				return late.promise
			},
		})
		const asked = failure(fetch(url, { method: 'PUT', body: () => body }))
		await started.promise
		await time.advance(1_000)
		expect((await asked).name).toBe('TimeoutError')
		late.resolve()
		await late.promise
		await expect.poll(() => ends).toEqual(['cancelled'])
		expect(server.requests).toEqual([])
	})

	test('onRequest that throws closes the body that was created for its attempt', async () => {
		const { body, ends } = watched()
		const { fetch, url } = await setup(FINE, {
			onRequest() {
				throw new Error('no token')
			},
		})
		await failure(fetch(url, { method: 'PUT', body: () => body }))
		expect(ends).toEqual(['cancelled'])
	})
})

describe('onResponse', () => {
	test('receives every response with its request, of any status', async () => {
		const seen: unknown[] = []
		const { fetch, url } = await setup([BUSY, FINE], {
			onResponse(response, { attempt, headers }) {
				seen.push([attempt, response.status, response.url, headers.get('x-own')])
			},
		})
		expect(await (await fetch(url, { headers: { 'x-own': 'yes' } })).text()).toBe('fine')
		expect(seen).toEqual([
			[0, 503, url, 'yes'],
			[1, 200, url, 'yes'],
		])
	})

	test('can turn a success into a failure, whose Retry-After is waited for', async () => {
		const throttled = answer({ headers: { 'x-throttled': '7' }, body: 'slow down' })
		const { fetch, url, waits } = await setup([throttled, FINE], {
			onResponse: ({ headers }) =>
				headers.has('x-throttled')
					? new Response(null, { status: 429, headers: { 'retry-after': headers.get('x-throttled') ?? '' } })
					: undefined,
		})
		const response = await fetch(url)
		expect(await response.text()).toBe('fine')
		expect(waits[0]).toBeGreaterThanOrEqual(7_000)
		expect(explain(response)?.attempts[0]).toMatchObject({ outcome: 'throttled', errorMessage: 'HTTP 429' })
	})

	test('can turn a failure into a success, which keeps the URL of the response', async () => {
		const { fetch, url } = await setup(answer({ status: 503, body: 'gone for lunch' }), {
			onResponse: async (response) => new Response(await response.text(), { status: 200 }),
		})
		const response = await fetch(url)
		expect(response).toMatchObject({ status: 200, url, redirected: false })
		expect([await response.text(), explain(response)?.stop]).toEqual(['gone for lunch', 'success'])
	})

	test('a response that is replaced is drained', async () => {
		const { body, ends } = watched()
		const { fetch } = fetching({
			fetch: async () => new Response(body),
			onResponse: () => new Response('other'),
		})
		expect(await (await fetch('https://a.test/')).text()).toBe('other')
		expect(ends).toEqual(['read'])
	})

	test.each([
		['the same stream', (response: Response) => new Response(response.body, { status: 201 })],
		['a clone', (response: Response) => response.clone()],
		[
			'a transformed stream',
			(response: Response) => new Response(response.body?.pipeThrough(new TransformStream())),
		],
	])('may return a response around %s', async (_, onResponse) => {
		const { fetch, url } = await setup(interrupted(Promise.resolve()), { onResponse })
		expect(await (await fetch(url)).text()).toBe('one, two')
	})

	test('onResponse that throws ends the call with its error, and the response is drained', async () => {
		const { body, ends } = watched()
		let sent = 0
		const { fetch } = fetching({
			fetch: async () => {
				sent++
				return new Response(body)
			},
			async onResponse() {
				throw new Error('bad signature')
			},
		})
		const error = await failure(fetch('https://a.test/'))
		expect([error.message, explain(error)?.stop, sent, ends]).toEqual([
			'bad signature',
			'hook-threw',
			1,
			['read'],
		])
	})

	test('onResponse that never settles ends with the timeout, and the connection is closed', async () => {
		const called = deferred()
		const rest = deferred()
		const { fetch, url, server, time } = await setup(interrupted(rest.promise), {
			timeout: 1_000,
			maxRetries: 0,
			onResponse() {
				called.resolve()
				return new Promise<undefined>(() => {})
			},
		})
		const asked = failure(fetch(url))
		await called.promise
		await time.advance(1_000)
		expect((await asked).name).toBe('TimeoutError')
		await server.aborted(1)
		rest.resolve()
		expect(time.pendingTimers).toBe(0)
	})

	test('onResponse that settles after the abort of the caller leaves no body behind', async () => {
		const called = deferred()
		const late = deferred()
		const { body, ends } = watched()
		const { fetch } = fetching({
			fetch: async () => new Response(body),
			async onResponse() {
				called.resolve()
				await late.promise
			},
		})
		const caller = new AbortController()
		const asked = failure(fetch('https://a.test/', { signal: caller.signal }))
		await called.promise
		caller.abort(new Error('never mind'))
		expect((await asked).message).toBe('never mind')
		late.resolve()
		await expect.poll(() => ends).toEqual(['read'])
	})

	test('reads at most maxResponseBytes', async () => {
		const { fetch, url } = await setup(answer({ body: 'x'.repeat(100) }), {
			maxResponseBytes: 10,
			onResponse: async (response) => void (await response.text()),
		})
		expect(await failure(fetch(url))).toMatchObject({ code: 'YAOKI_RESPONSE_TOO_LARGE' })
	})
})

describe('a client', () => {
	test('has the same hooks, and throws for the status that onResponse returns', async () => {
		const { server } = await setup(FINE)
		const client = new ResilientHttpClient({
			onRequest: ({ headers }) => headers.set('authorization', 'token'),
			onResponse: () => new Response('not yours', { status: 403 }),
		})
		const error = await failure(client.get(server.url()))
		expect(error).toMatchObject({ statusCode: 403, body: 'not yours' })
		expect(server.requests[0]?.headers.authorization).toBe('token')
	})

	test('stores the response of onResponse in its cache, but not one that was redirected', async () => {
		const steps: Readonly<Record<'/' | '/old', Step>> = {
			'/': FINE,
			'/old': answer({ status: 302, headers: { location: '/' } }),
		}
		const { server } = await setup(steps)
		const client = new ResilientHttpClient({
			cache: true,
			onResponse: async (response) => new Response(`${await response.text()}!`),
		})
		for (const path of ['/', '/old'] as const) await (await client.get(server.url(path))).text()
		client.circuitBreaker(server.origin)?.isolate()
		expect(await (await client.get(server.url())).text()).toBe('fine!')
		expect((await failure(client.get(server.url('/old')))).name).toBe('CircuitOpenError')
	})
})

test('a cache with onRequest needs a principal, because it does not see the credentials', async () => {
	const onRequest = ({ headers }: AttemptRequest) => headers.set('authorization', 'token')
	for (const cache of [true, {}])
		expect(() => new ResilientHttpClient({ cache, onRequest })).toThrow(
			expect.objectContaining({ optionPath: 'principal' }),
		)
	const client = new ResilientHttpClient({ cache: true, principal: () => 'the service', onRequest })
	expect(client.stats.cache).toMatchObject({ entries: 0 })
})

test.each(['onRequest', 'onResponse'])('%s must be a function', (name) => {
	expect(optionError({ [name]: 'Bearer x' })).toMatchObject({
		code: 'YAOKI_INVALID_OPTION',
		optionPath: name,
	})
})
