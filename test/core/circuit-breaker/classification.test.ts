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
	retry,
	TimeoutError,
	YaokiError,
} from 'yaoki'
import { calls, fresh, Held, never, opened, touchy } from './scenes.ts'

const coded = (code: string) => Object.assign(new Error('connect failed'), { code })
const rejecting = (error: unknown) => () => Promise.reject(error)

describe('speaks against the other side', () => {
	test.each([
		['a throttling answer', new HttpError(429)],
		['an unavailable service', new HttpError(503)],
		['an error of the server', new HttpError(500)],
		['a broken connection', coded('ECONNRESET')],
		['a timeout', new TimeoutError('attempt', 50)],
		['an AbortError while the caller has not aborted', new DOMException('aborted', 'AbortError')],
		['an error that nobody knows', new Error('down')],
		['a string', 'down'],
		['undefined', undefined],
		['null', null],
	])('%s', async (_, error) => {
		const { breaker } = fresh(touchy)
		await breaker.settle(rejecting(error))
		expect(breaker.stats).toMatchObject({ state: 'open', failureCount: 1, successCount: 0 })
	})

	test('a throw before the work has returned a promise', async () => {
		const { breaker } = fresh(touchy)
		const answer = breaker.settle(() => {
			throw new Error('down')
		})
		expect(await answer).toMatchObject({ ok: false })
		expect(breaker.currentState).toBe('open')
	})

	test('a thenable that rejects', async () => {
		const { breaker } = fresh(touchy)
		const thenable: PromiseLike<never> = {
			// biome-ignore lint/suspicious/noThenProperty: some libraries' promises are thenables, and this test is about them.
			then: (done, fail) => Promise.reject(new Error('down')).then(done, fail),
		}
		await expect(breaker.execute(() => thenable)).rejects.toThrow('down')
		expect(breaker.currentState).toBe('open')
	})
})

describe('is an answer, and counts as a success', () => {
	test.each([
		['a request that was wrong', new HttpError(400)],
		['something not found', new HttpError(404)],
		['a conflict', new HttpError(409)],
		['what the user calls permanent', permanent(new Error('insufficient funds'))],
		['a programming error', new TypeError('x is not a function')],
	])('%s', async (_, error) => {
		const { breaker } = fresh({ failureThreshold: 2 })
		await calls(breaker, 'f')
		await breaker.settle(rejecting(error))
		expect(breaker.stats).toMatchObject({ failureCount: 1, successCount: 1, consecutiveFailures: 0 })
	})

	test('undefined as a result', async () => {
		const { breaker } = fresh()
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

describe('says nothing about the other side', () => {
	const refusals: [string, unknown][] = [
		['another circuit that is open', new CircuitOpenError('inner', 100)],
		['a bulkhead that is full', new BulkheadRejectedError('inner', 'full')],
		['a rate limit', new RateLimitedError('inner', 100)],
		['an expired deadline', new DeadlineExceededError()],
		['a hedge that lost', new YaokiError('YAOKI_CANCELLED', 'another request of this call has answered')],
	]

	test.each(refusals)('%s, thrown by the work', async (_, error) => {
		const { breaker } = fresh({ ...touchy, failureThreshold: 2 })
		await calls(breaker, 'f')
		await breaker.settle(rejecting(error))
		expect(breaker.stats).toMatchObject({ failureCount: 1, successCount: 0, consecutiveFailures: 1 })
	})

	test.each(refusals)('%s, met by a probe, whose place is free again', async (_, error) => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		await breaker.settle(rejecting(error))
		expect(breaker.stats).toMatchObject({ state: 'half-open', successCount: 0, retryAfterMs: 0 })
		await calls(breaker, 's')
		expect(breaker.currentState).toBe('closed')
	})

	test('the caller’s own abort, whatever the work makes of it', async () => {
		for (const error of [undefined, new Error('socket closed'), coded('ECONNRESET')]) {
			const { breaker } = fresh(touchy)
			const controller = new AbortController()
			const held = new Held()
			const answer = breaker.settle(held.work, { signal: controller.signal })
			controller.abort(new Error('I changed my mind'))
			held.fail(0, error ?? controller.signal.reason)
			expect(await answer).toMatchObject({ ok: false })
			expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, successCount: 0 })
		}
	})

	test('the caller’s own abort of a probe, whose place is free again', async () => {
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

	test('a call that was aborted before it began: it runs nothing and takes no probe’s place', async () => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		const work = vi.fn()
		await expect(breaker.execute(work, { signal: AbortSignal.abort(new Error('no')) })).rejects.toThrow('no')
		expect(work).not.toHaveBeenCalled()
		expect(breaker.currentState).toBe('open')
	})

	test('a deadline that passes while the work listens to its signal', async () => {
		const { breaker, clock } = fresh(touchy)
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

	test('a refusal by a policy further in', async () => {
		const { breaker, clock } = fresh(touchy)
		const busy = pipeline({ runtime: clock }, breaker, bulkhead({ maxConcurrent: 1, maxQueue: 0 }))
		void busy.execute(never)
		await expect(busy.execute(never)).rejects.toMatchObject({ code: 'YAOKI_BULKHEAD_REJECTED' })
		const limited = pipeline({ runtime: clock }, breaker, rateLimiter({ limit: 1, intervalMs: 1_000 }))
		await limited.execute(() => 1)
		await expect(limited.execute(() => 1)).rejects.toMatchObject({ code: 'YAOKI_RATE_LIMITED' })
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0 })
	})
})

describe('isFailure', () => {
	test('decides instead of the classification, both ways', async () => {
		const isFailure = (error: unknown) => error instanceof HttpError && error.statusCode === 404
		const { breaker } = fresh({ failureThreshold: 2, isFailure })
		await breaker.settle(rejecting(new HttpError(500)))
		expect(breaker.stats).toMatchObject({ failureCount: 0, successCount: 1 })
		await breaker.settle(rejecting(new HttpError(404)))
		await breaker.settle(rejecting(new HttpError(404)))
		expect(breaker.currentState).toBe('open')
	})

	test('is not asked about the caller’s abort nor about refusals', async () => {
		const isFailure = vi.fn(() => true)
		const { breaker } = fresh({ ...touchy, isFailure })
		const controller = new AbortController()
		await breaker.settle(
			() => {
				controller.abort()
				throw new Error('socket closed')
			},
			{ signal: controller.signal },
		)
		await breaker.settle(rejecting(new CircuitOpenError('inner', 100)))
		expect(isFailure).not.toHaveBeenCalled()
		expect(breaker.currentState).toBe('closed')
	})
})

describe('isFailureResult', () => {
	test('counts a result as a failure, and the caller still gets it', async () => {
		const isFailureResult = (response: { status: number }) => response.status >= 500
		const { breaker } = fresh({ failureThreshold: 2, isFailureResult })
		await breaker.execute(() => ({ status: 503 }))
		expect(await breaker.execute(async () => ({ status: 503 }))).toEqual({ status: 503 })
		expect(breaker.stats).toMatchObject({ state: 'open', failureCount: 2, successCount: 0 })
	})

	test('sees every result, also after a long row of good ones', async () => {
		const { breaker } = fresh({ ...touchy, isFailureResult: (value) => value === 'bad' })
		await calls(breaker, 's'.repeat(300))
		await breaker.execute(() => 'bad')
		expect(breaker.currentState).toBe('open')
	})

	test('of a probe opens the circuit again', async () => {
		const { breaker, clock } = await opened({ isFailureResult: (value) => value === 'bad' })
		await clock.advance(1_000)
		await breaker.execute(() => 'bad')
		expect(breaker.currentState).toBe('open')
	})
})

describe('a decision hook that throws ends the call with its error and counts for nothing', () => {
	const throwing = () => {
		throw new Error('hook')
	}

	test.each(['isFailure', 'isFailureResult', 'classify'] as const)('%s', async (hook) => {
		const work = (): unknown => (hook === 'isFailureResult' ? 1 : Promise.reject(new Error('down')))
		const { breaker, clock } = fresh({ ...touchy, failureThreshold: 2, [hook]: throwing })
		for (let i = 0; i < 3; i++) await expect(breaker.execute(work)).rejects.toThrow('hook')
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, successCount: 0 })
		breaker.restore({ ...breaker.snapshot(), state: 'open' })
		await expect(breaker.execute(work)).rejects.toThrow('hook')
		expect(breaker.stats).toMatchObject({ state: 'half-open', retryAfterMs: 0 })
		expect(clock.pendingTimers).toBe(0)
	})

	test('a hook that fails for one error only: the error of the hook was then counted in its place', async () => {
		const isFailure = (error: unknown) => {
			if (error instanceof HttpError) throw new Error('hook')
			return true
		}
		const { breaker } = fresh({ ...touchy, isFailure })
		await expect(breaker.execute(rejecting(new HttpError(500)))).rejects.toThrow('hook')
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0 })
	})

	test('a test of results with a slip of the pen: each call was then a success, and ended the row of failures', async () => {
		const isFailureResult = (response: { body: { ok: boolean } }) => !response.body.ok
		const { breaker } = fresh({ failureThreshold: 3, isFailureResult })
		await calls(breaker, 'ff')
		await expect(breaker.execute(() => ({}))).rejects.toThrow(TypeError)
		expect(breaker.stats).toMatchObject({ failureCount: 2, successCount: 0, consecutiveFailures: 2 })
	})

	test('a hook of a policy further in', async () => {
		const { breaker, clock } = fresh(touchy)
		const policy = pipeline({ runtime: clock }, breaker, retry({ shouldRetry: throwing }))
		await expect(policy.execute(rejecting(new Error('down')))).rejects.toThrow('hook')
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, successCount: 0 })
	})

	test('a promise from one is an error that says so', async () => {
		const { breaker } = fresh({ ...touchy, isFailure: (async () => true) as never })
		await expect(breaker.execute(rejecting(new Error('down')))).rejects.toMatchObject({
			code: 'YAOKI_ASYNC_HOOK',
			message: 'isFailure returned a promise, but it must answer at once',
		})
	})
})

describe('classify', () => {
	test('of the breaker or of its pipeline says what counts', async () => {
		const classify = () => ({ kind: 'permanent', known: true }) as const
		const own = fresh({ ...touchy, classify })
		await calls(own.breaker, 'f')
		expect(own.breaker.currentState).toBe('closed')
		const { breaker, clock } = fresh(touchy)
		await calls(pipeline({ runtime: clock, classify }, breaker), 'f')
		expect(breaker.stats).toMatchObject({ state: 'closed', successCount: 1 })
	})
})
