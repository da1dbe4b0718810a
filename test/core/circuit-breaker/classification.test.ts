import { describe, expect, test, vi } from 'vitest'
import {
	BulkheadRejectedError,
	bulkhead,
	CircuitOpenError,
	Deadline,
	DeadlineExceededError,
	HttpError,
	permanent,
	pipeline,
	RateLimitedError,
	rateLimiter,
	TimeoutError,
	YaokiError,
} from 'yaoki'
import { calls, Held, never, opened, sensitive, setup } from './setup.ts'

const coded = (code: string) => Object.assign(new Error('connect failed'), { code })
const rejecting = (error: unknown) => () => Promise.reject(error)

describe('counts as a failure of the dependency', () => {
	test.each([
		['a throttling answer', new HttpError(429)],
		['an unavailable service', new HttpError(503)],
		['an error of the server', new HttpError(500)],
		['a broken connection', coded('ECONNRESET')],
		['a timeout', new TimeoutError('attempt', 50)],
		['an AbortError while the caller has not aborted', new DOMException('aborted', 'AbortError')],
		['an unknown error', new Error('down')],
		['a string', 'down'],
		['undefined', undefined],
		['null', null],
	])('%s', async (_, error) => {
		const { breaker } = setup(sensitive)
		await breaker.settle(rejecting(error))
		expect(breaker.stats).toMatchObject({ state: 'open', failureCount: 1, successCount: 0 })
	})

	test('a throw before the operation returns a promise', async () => {
		const { breaker } = setup(sensitive)
		const answer = breaker.settle(() => {
			throw new Error('down')
		})
		expect(await answer).toMatchObject({ ok: false })
		expect(breaker.currentState).toBe('open')
	})

	test('a thenable that rejects', async () => {
		const { breaker } = setup(sensitive)
		const thenable: PromiseLike<never> = {
			// biome-ignore lint/suspicious/noThenProperty: some libraries' promises are thenables, and this test is about them.
			then: (done, fail) => Promise.reject(new Error('down')).then(done, fail),
		}
		await expect(breaker.execute(() => thenable)).rejects.toThrow('down')
		expect(breaker.currentState).toBe('open')
	})
})

describe('counts as a success, because the dependency responded', () => {
	test.each([
		['a request that was wrong', new HttpError(400)],
		['something not found', new HttpError(404)],
		['a conflict', new HttpError(409)],
		['what the user calls permanent', permanent(new Error('insufficient funds'))],
		['a programming error', new TypeError('x is not a function')],
	])('%s', async (_, error) => {
		const { breaker } = setup({ failureThreshold: 2 })
		await calls(breaker, 'f')
		await breaker.settle(rejecting(error))
		expect(breaker.stats).toMatchObject({ failureCount: 1, successCount: 1, consecutiveFailures: 0 })
	})

	test('a result that is undefined counts', async () => {
		const { breaker } = setup()
		expect(await breaker.execute(() => undefined)).toBeUndefined()
		expect(breaker.stats.successCount).toBe(1)
	})

	test('a permanent error of a probe, which closes the circuit', async () => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		await breaker.settle(rejecting(new HttpError(404)))
		expect(breaker.currentState).toBe('closed')
	})
})

describe('is ignored', () => {
	const rejections: [string, unknown][] = [
		['another circuit that is open', new CircuitOpenError('inner', 100)],
		['a bulkhead that is full', new BulkheadRejectedError('inner', 'bulkhead-full', 'full')],
		['a rate limit', new RateLimitedError('inner', 100)],
		['an expired deadline', new DeadlineExceededError()],
		['a hedge that lost', new YaokiError('YAOKI_CANCELLED', 'another request of this call ended first')],
	]

	test.each(rejections)('%s, thrown by the operation', async (_, error) => {
		const { breaker } = setup({ ...sensitive, failureThreshold: 2 })
		await calls(breaker, 'f')
		await breaker.settle(rejecting(error))
		expect(breaker.stats).toMatchObject({ failureCount: 1, successCount: 0, consecutiveFailures: 1 })
	})

	test.each(rejections)('%s in a probe, whose slot is free again', async (_, error) => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		await breaker.settle(rejecting(error))
		expect(breaker.stats).toMatchObject({ state: 'half-open', successCount: 0, retryAfterMs: 0 })
		await calls(breaker, 's')
		expect(breaker.currentState).toBe('closed')
	})

	test("the caller's own abort, whatever the operation throws", async () => {
		for (const error of [undefined, new Error('socket closed'), coded('ECONNRESET')]) {
			const { breaker } = setup(sensitive)
			const controller = new AbortController()
			const held = new Held()
			const answer = breaker.settle(held.work, { signal: controller.signal })
			controller.abort(new Error('I changed my mind'))
			held.fail(0, error ?? controller.signal.reason)
			expect(await answer).toMatchObject({ ok: false })
			expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, successCount: 0 })
		}
	})

	test("the caller's own abort of a probe, whose slot is free again", async () => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		const controller = new AbortController()
		const held = new Held()
		const probe = breaker.settle(held.work, { signal: controller.signal })
		controller.abort()
		held.fail(0, controller.signal.reason)
		await probe
		expect(breaker.currentState).toBe('half-open')
		expect(await breaker.execute(() => 'next probe')).toBe('next probe')
		expect(breaker.currentState).toBe('closed')
	})

	test('a call aborted before it began: it runs nothing and takes no probe slot', async () => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		const work = vi.fn()
		await expect(breaker.execute(work, { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no')
		expect(work).not.toHaveBeenCalled()
		expect(breaker.currentState).toBe('open')
	})

	test('a deadline that expires while the operation listens to its signal', async () => {
		const { breaker, clock } = setup(sensitive)
		const deadline = Deadline.after(100, { runtime: clock })
		const answer = breaker.settle(
			({ signal }) =>
				new Promise((_, reject) => {
					signal.addEventListener('abort', () => reject(signal.reason))
				}),
			{ deadline },
		)
		await clock.advance(100)
		expect(await answer).toMatchObject({ error: { name: 'DeadlineExceededError' } })
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, successCount: 0 })
	})

	test('a rejection by an inner policy', async () => {
		const { breaker, clock } = setup(sensitive)
		const busy = pipeline({ runtime: clock }, breaker, bulkhead({ maxConcurrent: 1, maxQueue: 0 }))
		void busy.execute(never)
		await expect(busy.execute(never)).rejects.toMatchObject({ code: 'YAOKI_BULKHEAD_REJECTED' })
		const limited = pipeline({ runtime: clock }, breaker, rateLimiter({ limit: 1, intervalMs: 1_000 }))
		await limited.execute(() => 1)
		await expect(limited.execute(() => 1)).rejects.toMatchObject({ code: 'YAOKI_RATE_LIMITED' })
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0 })
	})
})
