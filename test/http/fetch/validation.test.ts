import { describe, expect, test } from 'vitest'
import { CircuitOpenError, explain, permanent } from 'yaoki'
import { type AttemptRequest, ResilientHttpClient } from 'yaoki/http'
import { deferred } from '../deferred.ts'
import { answer, type Step } from '../faults/fault-server.ts'
import { failure, fetching, interrupted, optionError, setup } from './setup.ts'

const GOOD = answer({ body: '{"ok":true,"id":7}' })
const BAD = answer({ body: '{"ok":false,"error":"try_again"}' })

/** The rule of an API that reports failures with the status 200. */
const isOk = async (response: Response): Promise<boolean> => ((await response.json()) as { ok: boolean }).ok

describe('validateResponse', () => {
	test('validateResponse that returns false makes a 200 a transient failure, and the caller can read the valid response', async () => {
		const { fetch, url, server } = await setup([BAD, GOOD], { validateResponse: isOk })
		const response = await fetch(url)
		expect(await response.json()).toEqual({ ok: true, id: 7 })
		expect(server.requests).toHaveLength(2)
		expect(explain(response)?.attempts[0]).toMatchObject({
			outcome: 'transient',
			errorMessage: 'HTTP 200, but validateResponse returned false',
		})
	})

	test('validateResponse that always returns false: fetch resolves with the last response, as with any status', async () => {
		const { fetch, url, server } = await setup(BAD, { validateResponse: isOk })
		const response = await fetch(url)
		expect([response.status, await response.json()]).toEqual([200, { ok: false, error: 'try_again' }])
		expect([explain(response)?.stop, server.requests.length]).toEqual(['retries-exhausted', 3])
	})

	test('validateResponse that always returns false: a client throws an HttpError with status 200 and the body', async () => {
		const { server, runtime } = await setup(BAD)
		const client = new ResilientHttpClient({ validateResponse: isOk, runtime, maxRetries: 1 })
		const error = await failure(client.get(server.url()))
		expect(error).toMatchObject({
			name: 'HttpError',
			statusCode: 200,
			body: '{"ok":false,"error":"try_again"}',
		})
		expect(error.message).toContain('HTTP 200, but validateResponse returned false for GET')
		expect(client.stats).toMatchObject({ requests: 1, attempts: 2, failures: 1 })
	})

	test('invalid responses open the circuit', async () => {
		const { fetch, url } = await setup(BAD, {
			validateResponse: isOk,
			maxRetries: 0,
			circuitBreaker: { failureThreshold: 2 },
		})
		for (let n = 0; n < 2; n++) await (await fetch(url)).text()
		expect(await failure(fetch(url))).toBeInstanceOf(CircuitOpenError)
	})

	test('validateResponse that returns false for a response with Retry-After: the retry waits that long', async () => {
		const limited = answer({ headers: { 'retry-after': '7' }, body: '{"ok":false}' })
		const { fetch, url, waits } = await setup([limited, GOOD], { validateResponse: isOk })
		await (await fetch(url)).text()
		expect(waits[0]).toBeGreaterThanOrEqual(7_000)
	})

	test('validateResponse that throws: the error is classified like any other, and thrown unchanged', async () => {
		const thrown = Object.assign(new Error('rate limited'), { status: 429 })
		const { fetch, url, server } = await setup(BAD, {
			async validateResponse(response) {
				if (!(await isOk(response))) throw thrown
			},
		})
		const error = await failure(fetch(url))
		expect(error).toBe(thrown)
		expect(explain(error)?.attempts.map(({ outcome }) => outcome)).toEqual(Array(3).fill('throttled'))
		expect(server.requests).toHaveLength(3)
	})

	test('validateResponse that throws a permanent error is not retried', async () => {
		const { fetch, url, server } = await setup(BAD, {
			validateResponse() {
				throw permanent(new Error('unknown account'))
			},
		})
		const error = await failure(fetch(url))
		expect([error.message, explain(error)?.stop, server.requests.length]).toEqual([
			'unknown account',
			'permanent',
			1,
		])
	})

	test('validateResponse that throws "connection refused" does not make a POST seem unprocessed', async () => {
		const { fetch, url, server } = await setup(BAD, {
			validateResponse() {
				throw Object.assign(new Error('the schema registry is down'), { code: 'ECONNREFUSED' })
			},
		})
		const error = await failure(fetch(url, { method: 'POST', body: 'order' }))
		expect([explain(error)?.stop, server.requests.length]).toEqual(['not-idempotent', 1])
	})

	test('is not called for other statuses', async () => {
		let calls = 0
		const { fetch, url } = await setup(answer({ status: 404, body: '{}' }), {
			validateResponse() {
				calls++
				return false
			},
		})
		expect((await fetch(url)).status).toBe(404)
		expect(calls).toBe(0)
	})

	test('receives what onResponse returns, and the request', async () => {
		const seen: unknown[] = []
		const { fetch, url } = await setup(GOOD, {
			onResponse: () => new Response('{"ok":true,"id":8}'),
			async validateResponse(response: Response, { method, attempt }: AttemptRequest) {
				seen.push(method, attempt, await response.json())
			},
		})
		expect(await (await fetch(url)).json()).toEqual({ ok: true, id: 8 })
		expect(seen).toEqual(['GET', 0, { ok: true, id: 8 }])
	})

	test('validateResponse that does not read: a stream reaches the caller chunk by chunk', async () => {
		const rest = deferred()
		const { fetch, url } = await setup(interrupted(rest.promise), {
			validateResponse: ({ headers }) => headers.get('content-type') !== 'text/html',
		})
		const reader = (await fetch(url)).body?.getReader()
		const first = await reader?.read()
		expect(new TextDecoder().decode(first?.value)).toBe('one, ')
		rest.resolve()
		const second = await reader?.read()
		expect(new TextDecoder().decode(second?.value)).toBe('two')
	})

	test('reads at most maxResponseBytes', async () => {
		const { fetch, url, server } = await setup(answer({ body: 'x'.repeat(100) }), {
			maxResponseBytes: 10,
			validateResponse: isOk,
		})
		expect(await failure(fetch(url))).toMatchObject({ code: 'YAOKI_RESPONSE_TOO_LARGE' })
		expect(server.requests).toHaveLength(1)
	})

	test('validateResponse whose body breaks off while it is read is retried', async () => {
		const broken: Step = {
			async play(exchange) {
				await exchange.sendHead(200, { 'content-length': '100' })
				await exchange.send('{"ok":')
				exchange.response.destroy()
			},
		}
		const { fetch, url, server } = await setup([broken, GOOD], { validateResponse: isOk })
		expect(await (await fetch(url)).json()).toEqual({ ok: true, id: 7 })
		expect(server.requests).toHaveLength(2)
	})

	test.each(['the timeout', 'the caller'])(
		'validateResponse that never settles ends with %s',
		async (who) => {
			const called = deferred()
			const caller = new AbortController()
			const { fetch, url, time } = await setup(GOOD, {
				timeout: 1_000,
				maxRetries: 0,
				validateResponse() {
					called.resolve()
					return new Promise<undefined>(() => {})
				},
			})
			const asked = failure(fetch(url, { signal: caller.signal }))
			await called.promise
			if (who === 'the caller') caller.abort(new RangeError('never mind'))
			else await time.advance(1_000)
			expect((await asked).name).toBe(who === 'the caller' ? 'RangeError' : 'TimeoutError')
			expect(time.pendingTimers).toBe(0)
		},
	)

	test('validateResponse that throws leaves no body behind: the stream is read or cancelled', async () => {
		const ends: string[] = []
		const { fetch } = fetching({
			maxRetries: 0,
			async fetch() {
				const body = new ReadableStream<Uint8Array>({
					pull: (controller) => controller.enqueue(new Uint8Array(10_000)),
					cancel: () => void ends.push('cancelled'),
				})
				return new Response(body)
			},
			validateResponse() {
				throw new Error('no')
			},
		})
		await failure(fetch('https://a.test/'))
		await expect.poll(() => ends).toEqual(['cancelled'])
	})

	test('keeps what is invalid out of the cache of a client', async () => {
		const { server, runtime } = await setup([GOOD, BAD])
		const client = new ResilientHttpClient({ cache: true, validateResponse: isOk, runtime, maxRetries: 0 })
		await client.get(server.url())
		await failure(client.get(server.url()))
		client.circuitBreaker(server.origin)?.isolate()
		expect(await (await client.get(server.url())).json()).toEqual({ ok: true, id: 7 })
	})

	test('must be a function', () => {
		expect(optionError({ validateResponse: true })).toMatchObject({ optionPath: 'validateResponse' })
	})
})
