import { describe, expect, it } from 'vitest'
import { CircuitOpenError, TimeoutError } from '../../../../src/core/errors/errors.ts'
import { answer, deferred, hang, refusedUrl, reset } from '../../faults/fault-server.ts'
import { composed, failureOf, inVirtualTime, serving, ways } from './composed.ts'

describe.each(ways)('through $name', ({ send, open, causeOf }) => {
	it('retries a request until it succeeds', async () => {
		const server = await serving([answer({ status: 503 }), reset('request-head'), answer({ body: 'fine' })])
		expect(await send(server.url('/a?b'), composed())).toEqual({ status: 200, text: 'fine' })
		expect(server.requests.map(({ path }) => path)).toEqual(['/a?b', '/a?b', '/a?b'])
	})

	it('delivers the last response, head and body, when the retries are exhausted', async () => {
		const body = 'x'.repeat(300_000)
		const server = await serving([answer({ status: 500 }), answer({ status: 503, body })])
		expect(await send(server.url(), composed({ maxRetries: 2 }))).toEqual({ status: 503, text: body })
		expect(server.requests).toHaveLength(3)
	})

	it('delivers a permanent failure immediately', async () => {
		const server = await serving(answer({ status: 404, body: 'no such thing' }))
		expect(await send(server.url(), composed())).toEqual({ status: 404, text: 'no such thing' })
		expect(server.requests).toHaveLength(1)
	})

	it('does not send a POST twice', async () => {
		const server = await serving(answer({ status: 503, body: 'busy' }))
		const sent = { method: 'POST', body: 'pay' } as const
		expect(await send(server.url(), composed(), sent)).toEqual({ status: 503, text: 'busy' })
		expect(server.requests.map(({ body }) => body)).toEqual(['pay'])
	})

	it('rejects with the network error itself', async () => {
		const error = await failureOf(send(await refusedUrl(), composed()))
		expect(causeOf(error)).toMatchObject({ code: 'ECONNREFUSED' })
	})

	it('rejects with CircuitOpenError and sends nothing while the circuit is open', async () => {
		const server = await serving(answer({ status: 500 }))
		const dispatcher = composed({ maxRetries: 0, circuitBreaker: { failureThreshold: 2 } })
		await send(server.url(), dispatcher)
		await send(server.url(), dispatcher)
		expect(causeOf(await failureOf(send(server.url(), dispatcher)))).toBeInstanceOf(CircuitOpenError)
		expect(server.requests).toHaveLength(2)
	})

	it('waits for Retry-After, and not much longer', async () => {
		const server = await serving([answer({ status: 429, headers: { 'retry-after': '30' } }), answer()])
		const waits = deferred()
		const { dispatcher, clock } = inVirtualTime({ timeout: 60_000, onRetry: () => waits.resolve() })
		const asked = send(server.url(), dispatcher)
		await waits.promise
		await clock.advance(29_999)
		expect(server.requests).toHaveLength(1)
		await clock.advance(7_600)
		expect((await asked).status).toBe(200)
	})

	it('waits for each 409 with Retry-After beyond maxRetries if the request has a key', async () => {
		const inProgress = answer({ status: 409, headers: { 'retry-after': '2' } })
		const server = await serving([inProgress, inProgress, inProgress, answer({ status: 201, body: 'fine' })])
		const waits: number[] = []
		const { dispatcher, clock } = inVirtualTime({
			maxRetries: 1,
			onRetry: (_error, _attempt, delayMs) => {
				waits.push(delayMs)
				setImmediate(() => clock.advance(delayMs))
			},
		})
		// `fetch` turns a body into a stream, which cannot be sent again.
		const sent = { method: 'POST', headers: { 'idempotency-key': 'order-7' } } as const
		expect(await send(server.url(), dispatcher, sent)).toEqual({ status: 201, text: 'fine' })
		expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(Array(4).fill('order-7'))
		expect(waits).toHaveLength(3)
		expect(Math.min(...waits)).toBeGreaterThanOrEqual(2_000)
	})

	it('ends a wait between two attempts immediately with the abort reason', async () => {
		const server = await serving(answer({ status: 503 }))
		const controller = new AbortController()
		const reason = new Error('the page was left')
		const dispatcher = composed({
			baseDelayMs: 1e8,
			maxDelayMs: 1e8,
			totalTimeoutMs: 1e9,
			onRetry: () => controller.abort(reason),
		})
		expect(await failureOf(send(server.url(), dispatcher, { signal: controller.signal }))).toBe(reason)
		expect(server.requests).toHaveLength(1)
	})

	it('an abort before the head rejects immediately and closes the connection', async () => {
		const server = await serving(hang())
		const controller = new AbortController()
		const reason = new Error('the page was left')
		const failure = failureOf(send(server.url(), composed(), { signal: controller.signal }))
		await server.requested(1)
		controller.abort(reason)
		expect(await failure).toBe(reason)
		await server.aborted(1)
		expect(server.requests).toHaveLength(1)
	})

	it('an abort while the body is read rejects with its reason', async () => {
		const server = await serving(hang('body'))
		const controller = new AbortController()
		const reason = new Error('the page was left')
		const { signal } = controller
		const response = await open(server.url(), { dispatcher: composed(), signal })
		const failure = failureOf(response.text())
		controller.abort(reason)
		expect(await failure).toBe(reason)
		await server.aborted(1)
	})

	it('sends nothing if the signal is already aborted', async () => {
		const server = await serving(answer())
		const reason = new Error('never mind')
		const signal = AbortSignal.abort(reason)
		expect(await failureOf(send(server.url(), composed(), { signal }))).toBe(reason)
		expect(server.connections.opened).toBe(0)
	})

	it('a body that fails after a successful head is an error, not another attempt', async () => {
		const server = await serving(reset('body'))
		const error = await failureOf(send(server.url(), composed()))
		expect(causeOf(error)).toMatchObject({ code: expect.stringMatching(/UND_ERR_SOCKET|ECONNRESET/) })
		expect(server.requests).toHaveLength(1)
	})

	it('rejects with TimeoutError if the attempts take too long', async () => {
		const server = await serving(hang())
		const { dispatcher, clock } = inVirtualTime({ timeout: 1_000, maxRetries: 1 })
		const failure = failureOf(send(server.url(), dispatcher))
		await server.requested(1)
		await clock.advance(1_001)
		await server.requested(2)
		await clock.advance(1_000)
		expect(causeOf(await failure)).toBeInstanceOf(TimeoutError)
		expect(clock.pendingTimers).toBe(0)
		await server.allClosed()
	})

	it('rejects with TimeoutError if the body takes too long', async () => {
		const server = await serving(hang('body'))
		const { dispatcher, clock } = inVirtualTime({ timeout: 1_000 })
		const response = await open(server.url(), { dispatcher })
		const failure = failureOf(response.text())
		await clock.advance(1_001)
		expect(causeOf(await failure)).toBeInstanceOf(TimeoutError)
		await server.aborted(1)
		expect(clock.pendingTimers).toBe(0)
	})

	it('leaves no timer and reuses one connection after success', async () => {
		const server = await serving(answer({ body: 'fine' }))
		const { dispatcher, clock } = inVirtualTime()
		for (let n = 0; n < 5; n++) await send(server.url(), dispatcher)
		expect(clock.pendingTimers).toBe(0)
		expect(server.connections.opened).toBe(1)
	})
})
