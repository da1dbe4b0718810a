import { request } from 'node:http'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { retry } from 'yaoki'
import { currentContext, runWithContext, withAmbientContext } from 'yaoki/node'
import { virtualRuntime } from 'yaoki/testing'
import type { ServerContext, ServerMiddlewareOptions } from '../../../src/http/server/options.ts'
import { deferred } from '../deferred.ts'
import { catching, type Service, type Start, servers } from './servers.ts'

async function serving(start: Start, service: Service, options?: ServerMiddlewareOptions): Promise<string> {
	const { url, close } = await start(service, options)
	onTestFinished(close)
	return url
}

/** Sends the body after the server has received the head, so that it arrives in a separate event. Returns the status. */
const postedLate = (
	url: string,
	headers: Record<string, string>,
	body: string,
): Promise<number | undefined> =>
	new Promise((resolve, reject) => {
		const sent = request(url, { method: 'POST', headers: { ...headers, expect: '100-continue' } })
		sent.on('continue', () => sent.end(body))
		sent.on('response', (response) => resolve(response.resume().statusCode))
		sent.on('error', reject)
		sent.flushHeaders()
	})

const atOnce = { maxRetries: 2, baseDelayMs: 0 }

/** A failing dependency behind a retry, and how often it was called. */
function deadDependency() {
	const seen = { calls: 0 }
	const policy = retry(atOnce)
	const call = (context: ServerContext | undefined) =>
		policy.execute(
			() => {
				seen.calls++
				throw new Error('down')
			},
			{ parent: context },
		)
	return { seen, call }
}

/** A service that responds with this when its dependency fails. */
const answering =
	(status: number, call: (context: ServerContext | undefined) => Promise<unknown>): Service =>
	(context) =>
		call(context).then(
			() => 200,
			() => status,
		)

describe.each(servers)('%s', (_, start) => {
	// With Express and Fastify the request hung, and the unhandled rejection ended the process.
	test('a run that rejects is an error of the request', async () => {
		vi.spyOn(console, 'error').mockImplementation(() => {})
		const run = (() => Promise.reject(new Error('no context'))) as never
		const url = await serving(start, () => 200, { run })
		const status = await fetch(url).then(
			(response) => response.status,
			() => 'closed by the platform of the test',
		)
		expect(status).not.toBe(200)
	})

	// next(undefined) ran the handler, without a context.
	test.each([
		['rejects with', undefined, () => Promise.reject()],
		[
			'throws',
			null,
			() => {
				throw null
			},
		],
		['rejects with', 'route', () => Promise.reject('route')],
	])('the handler does not run if run %s %s instead of an error', async (_, __, run) => {
		vi.spyOn(console, 'error').mockImplementation(() => {})
		const service = vi.fn(() => 200)
		const url = await serving(start, service, { run: run as never })
		await fetch(url).catch(() => 'closed by the platform of the test')
		expect(service).not.toHaveBeenCalled()
	})

	test('a request with an expired deadline is answered with 504 before the handler runs', async () => {
		let isCalled = false
		const url = await serving(start, () => {
			isCalled = true
			return 200
		})
		const response = await fetch(url, { headers: { 'x-request-timeout-ms': '0' } })
		expect(response.status).toBe(504)
		expect(response.headers.get('content-type')).toMatch(/^application\/json/)
		expect(response.headers.has('x-retries-exhausted')).toBe(false)
		expect(await response.json()).toEqual({ error: 'deadline exceeded' })
		expect(isCalled).toBe(false)
	})

	test('a request with an expired deadline and an unread body is answered, and the connection stays usable', async () => {
		const url = await serving(start, () => 200)
		const headers = { 'grpc-timeout': '0m', 'content-type': 'application/json' }
		const late = await fetch(url, { method: 'POST', headers, body: JSON.stringify('x'.repeat(50_000)) })
		expect(late.status).toBe(504)
		await late.text()
		expect((await fetch(url)).status).toBe(200)
	})

	test('the handler receives the capped deadline', async () => {
		const found: (number | undefined)[] = []
		const service: Service = (context) => {
			found.push(context?.deadline?.remainingMs)
			return 200
		}
		const options = { maxDeadlineMs: 5_000, marginMs: 50, runtime: virtualRuntime() }
		const url = await serving(start, service, options)
		for (const left of ['1000', '99999999', 'soon', '-1', '1e3', ''])
			await fetch(url, { headers: { 'x-request-timeout-ms': left } })
		expect(found).toEqual([950, 4_950, undefined, undefined, undefined, undefined])
	})

	test('a client that disconnects aborts the signal', async () => {
		const started = deferred()
		const aborted = deferred<unknown>()
		const url = await serving(start, async (context) => {
			const signal = context?.signal
			signal?.addEventListener('abort', () => aborted.resolve(signal.reason))
			started.resolve()
			await aborted.promise
			return 200
		})
		const client = new AbortController()
		const body = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
		const answer = fetch(url, { ...body, signal: client.signal })
		await started.promise
		client.abort()
		await expect(answer).rejects.toThrow()
		expect(await aborted.promise).toMatchObject({ name: 'AbortError' })
	})

	test('a context after the response: neither the client nor the deadline aborts it, and no timer is left', async () => {
		const clock = virtualRuntime()
		const signals: (AbortSignal | undefined)[] = []
		const running = await start(
			(context) => {
				signals.push(context?.signal)
				return 200
			},
			{ runtime: clock },
		)
		const headers = { 'x-request-timeout-ms': '1000' }
		for (let i = 0; i < 3; i++) await (await fetch(running.url, { headers })).text()
		await running.close()
		expect(clock.pendingTimers).toBe(0)
		await clock.advance(2_000)
		expect(signals.map((signal) => signal?.aborted)).toEqual([false, false, false])
	})

	test.each([429, 500, 503])('a %d after exhausted retries is marked', async (status) => {
		const { seen, call } = deadDependency()
		const url = await serving(start, answering(status, call))
		const response = await fetch(url)
		expect(response.status).toBe(status)
		expect(response.headers.get('x-retries-exhausted')).toBe('true')
		expect(await response.text()).toBe('done')
		expect(seen.calls).toBe(3)
	})

	test('a 2xx or another 4xx is not marked', async () => {
		const { seen, call } = deadDependency()
		for (const status of [200, 404]) {
			const url = await serving(start, answering(status, call))
			const response = await fetch(url)
			expect(response.status).toBe(status)
			expect(response.headers.has('x-retries-exhausted')).toBe(false)
		}
		expect(seen.calls).toBe(6)
	})

	test('a failure that no retry has handled is not marked', async () => {
		const url = await serving(start, () => 503)
		const response = await fetch(url)
		expect(response.status).toBe(503)
		expect(response.headers.has('x-retries-exhausted')).toBe(false)
	})

	test('retries are left to an outermost caller', async () => {
		const { seen, call } = deadDependency()
		const url = await serving(start, answering(503, call))
		for (const attempt of ['0', '1', '2']) {
			const headers = { 'x-retry-layer': 'outermost', 'x-retry-attempt': attempt }
			const response = await fetch(url, { headers })
			expect(response.status).toBe(503)
			expect(response.headers.has('x-retries-exhausted')).toBe(false)
		}
		expect(seen.calls).toBe(3)
	})

	test('concurrent requests do not share retry state', async () => {
		const { call } = deadDependency()
		const both = deferred()
		let waiting = 0
		const url = await serving(start, async (context) => {
			const isFirst = context?.attempt === 1
			if (isFirst) await call(context).catch(() => undefined)
			if (++waiting === 2) both.resolve()
			await both.promise
			return 503
		})
		const [first, second] = await Promise.all(
			['1', '2'].map((attempt) => fetch(url, { headers: { 'x-retry-attempt': attempt } })),
		)
		expect(first?.headers.get('x-retries-exhausted')).toBe('true')
		expect(second?.headers.has('x-retries-exhausted')).toBe(false)
	})

	test('run: runWithContext makes ambient policies part of the request, also after its body was read', async () => {
		const policy = withAmbientContext(retry(atOnce))
		let calls = 0
		const service: Service = async (context, posted) => {
			expect(posted).toEqual({ order: 7 })
			expect(currentContext()).toBe(context)
			const dead = () => {
				calls++
				throw new Error('down')
			}
			return policy.execute(dead).catch(() => 503)
		}
		const url = await serving(start, service, { run: runWithContext })
		const headers = { 'content-type': 'application/json', 'x-retry-layer': 'outermost' }
		expect(await postedLate(url, headers, '{"order":7}')).toBe(503)
		expect(calls).toBe(1)
		expect(currentContext()).toBeUndefined()
	})

	test('rejects invalid options when it is created', async () => {
		const made = async () => start(() => 200, { maxDeadlineMs: -1 })
		await expect(made()).rejects.toThrow(/Invalid option "maxDeadlineMs": expected .*, got -1/)
		const other = async () => start(() => 200, { run: 5 } as never)
		await expect(other()).rejects.toThrow('Invalid option "run": expected a function, got 5')
	})
})

describe.each(catching)('%s', (_, start) => {
	test('an unhandled error is a marked response too', async () => {
		const { seen, call } = deadDependency()
		const url = await serving(start, async (context) => {
			await call(context)
			return 200
		})
		const response = await fetch(url)
		expect(response.status).toBe(500)
		expect(response.headers.get('x-retries-exhausted')).toBe('true')
		expect(seen.calls).toBe(3)
	})
})
