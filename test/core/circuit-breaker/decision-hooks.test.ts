import { describe, expect, test, vi } from 'vitest'
import { CircuitOpenError, HttpError, pipeline, retry } from 'yaoki'
import { calls, opened, sensitive, setup } from './setup.ts'

const rejecting = (error: unknown) => () => Promise.reject(error)

describe('isFailure', () => {
	test('decides instead of the classification, in both directions', async () => {
		const isFailure = (error: unknown) => error instanceof HttpError && error.statusCode === 404
		const { breaker } = setup({ failureThreshold: 2, isFailure })
		await breaker.settle(rejecting(new HttpError(500)))
		expect(breaker.stats).toMatchObject({ failureCount: 0, successCount: 1 })
		await breaker.settle(rejecting(new HttpError(404)))
		await breaker.settle(rejecting(new HttpError(404)))
		expect(breaker.currentState).toBe('open')
	})

	test("is not asked about the caller's abort or rejections", async () => {
		const isFailure = vi.fn(() => true)
		const { breaker } = setup({ ...sensitive, isFailure })
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
		const { breaker } = setup({ failureThreshold: 2, isFailureResult })
		await breaker.execute(() => ({ status: 503 }))
		expect(await breaker.execute(async () => ({ status: 503 }))).toEqual({ status: 503 })
		expect(breaker.stats).toMatchObject({ state: 'open', failureCount: 2, successCount: 0 })
	})

	test('sees every result, also after many successes', async () => {
		const { breaker } = setup({ ...sensitive, isFailureResult: (value) => value === 'bad' })
		await calls(breaker, 's'.repeat(300))
		await breaker.execute(() => 'bad')
		expect(breaker.currentState).toBe('open')
	})

	test('a probe whose result isFailureResult counts as a failure opens the circuit again', async () => {
		const { breaker, clock } = await opened({ isFailureResult: (value) => value === 'bad' })
		await clock.advance(1_000)
		await breaker.execute(() => 'bad')
		expect(breaker.currentState).toBe('open')
	})
})

describe('a decision hook that throws ends the call with its error and counts nothing', () => {
	const throwing = () => {
		throw new Error('hook')
	}

	test.each(['isFailure', 'isFailureResult', 'classify'] as const)('%s', async (hook) => {
		const work = (): unknown => (hook === 'isFailureResult' ? 1 : Promise.reject(new Error('down')))
		const { breaker, clock } = setup({ ...sensitive, failureThreshold: 2, [hook]: throwing })
		for (let i = 0; i < 3; i++) await expect(breaker.execute(work)).rejects.toThrow('hook')
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, successCount: 0 })
		breaker.restore({ ...breaker.snapshot(), state: 'open' })
		await expect(breaker.execute(work)).rejects.toThrow('hook')
		expect(breaker.stats).toMatchObject({ state: 'half-open', retryAfterMs: 0 })
		expect(clock.pendingTimers).toBe(0)
	})

	test("regression: for one error only, the hook's error was counted instead", async () => {
		const isFailure = (error: unknown) => {
			if (error instanceof HttpError) throw new Error('hook')
			return true
		}
		const { breaker } = setup({ ...sensitive, isFailure })
		await expect(breaker.execute(rejecting(new HttpError(500)))).rejects.toThrow('hook')
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0 })
	})

	test('regression: in isFailureResult, each call counted as a success', async () => {
		const isFailureResult = (response: { body: { ok: boolean } }) => !response.body.ok
		const { breaker } = setup({ failureThreshold: 3, isFailureResult })
		await calls(breaker, 'ff')
		await expect(breaker.execute(() => ({}))).rejects.toThrow(TypeError)
		expect(breaker.stats).toMatchObject({ failureCount: 2, successCount: 0, consecutiveFailures: 2 })
	})

	test('a hook that throws in an inner policy ends the call with its error and counts nothing', async () => {
		const { breaker, clock } = setup(sensitive)
		const policy = pipeline({ runtime: clock }, breaker, retry({ shouldRetry: throwing }))
		await expect(policy.execute(rejecting(new Error('down')))).rejects.toThrow('hook')
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, successCount: 0 })
	})

	test('a hook that returns a promise throws an error that says so', async () => {
		const { breaker } = setup({ ...sensitive, isFailure: (async () => true) as never })
		await expect(breaker.execute(rejecting(new Error('down')))).rejects.toMatchObject({
			code: 'YAOKI_ASYNC_HOOK',
			message: 'isFailure must be synchronous, but it returned a promise',
		})
	})
})

describe('classify', () => {
	test('classify of the breaker or of its pipeline decides what counts', async () => {
		const classify = () => ({ kind: 'permanent', isKnown: true }) as const
		const own = setup({ ...sensitive, classify })
		await calls(own.breaker, 'f')
		expect(own.breaker.currentState).toBe('closed')
		const { breaker, clock } = setup(sensitive)
		await calls(pipeline({ runtime: clock, classify }, breaker), 'f')
		expect(breaker.stats).toMatchObject({ state: 'closed', successCount: 1 })
	})
})
