import { describe, expect, test } from 'vitest'
import { type Classification, circuitBreaker, HttpError, pipeline } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { calls, opened, sensitive, setup } from './setup.ts'

describe('the open time', () => {
	test('is always exactly resetTimeoutMs without a backoff', async () => {
		const { breaker, clock } = await opened()
		for (let i = 0; i < 5; i++) {
			expect(breaker.stats.retryAfterMs).toBe(1_000)
			await clock.advance(1_000)
			await calls(breaker, 'f')
		}
	})

	test('the open time with a resetBackoff spreads a fleet, and grows with every failed probe', async () => {
		const fleet = await Promise.all(
			Array.from({ length: 200 }, async (_, seed) => {
				const clock = virtualRuntime({ seed })
				const breaker = circuitBreaker({
					...sensitive,
					resetTimeoutMs: 30_000,
					resetBackoff: {},
					runtime: clock,
				})
				await calls(breaker, 'f')
				const first = breaker.stats.retryAfterMs
				await clock.advance(first)
				await calls(breaker, 'f')
				return { first, second: breaker.stats.retryAfterMs }
			}),
		)
		const spread = (times: number[]) => ({
			least: Math.min(...times),
			greatest: Math.max(...times),
			different: new Set(times).size,
		})
		const first = spread(fleet.map((each) => each.first))
		const second = spread(fleet.map((each) => each.second))
		expect(first.least).toBeGreaterThanOrEqual(500)
		expect(first.greatest).toBeLessThan(1_000)
		expect(second.least).toBeGreaterThanOrEqual(750)
		expect(second.greatest).toBeLessThan(1_500)
		expect(first.greatest - first.least).toBeGreaterThan(400)
		expect(first.different).toBeGreaterThan(190)
	})

	test('starts the backoff again after the circuit was closed', async () => {
		const resetBackoff = { jitterStrategy: 'none' } as const
		const { breaker, clock } = await opened({ resetTimeoutMs: 30_000, resetBackoff })
		await clock.advance(1_000)
		await calls(breaker, 'f')
		expect(breaker.stats.retryAfterMs).toBe(1_500)
		await clock.advance(1_500)
		await calls(breaker, 'sf')
		expect(breaker.stats.retryAfterMs).toBe(1_000)
	})

	test('starts at initialMs again if a circuit that closed opens immediately', async () => {
		// A service that restarts several times must not be without calls for longer each time.
		const resetBackoff = { initialMs: 500, jitterStrategy: 'none' } as const
		const { breaker, clock } = await opened({ resetTimeoutMs: 30_000, resetBackoff })
		for (let i = 0; i < 5; i++) {
			expect(breaker.stats.retryAfterMs).toBe(500)
			await clock.advance(500)
			await calls(breaker, 'sf')
		}
	})

	const asking = (retryAfterMs: number) => () => Promise.reject(new HttpError(503, '', { retryAfterMs }))

	test('is extended by a Retry-After up to a limit, never shortened', async () => {
		for (const [asked, openFor] of [
			[10_000, 10_000],
			[10, 1_000],
			[3_600_000, 60_000],
		] as const) {
			const { breaker } = setup(sensitive)
			await breaker.settle(asking(asked))
			expect(breaker.stats.retryAfterMs).toBe(openFor)
		}
	})

	test('the open time of a failed probe follows its Retry-After; a limit of 0 ignores it', async () => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		await breaker.settle(asking(5_000))
		expect(breaker.stats.retryAfterMs).toBe(5_000)
		const deaf = setup({ ...sensitive, maxRetryAfterMs: 0 })
		await deaf.breaker.settle(asking(5_000))
		expect(deaf.breaker.stats.retryAfterMs).toBe(1_000)
	})

	test('is not extended by a Retry-After that a classifier of the breaker removes', async () => {
		const classify = (error: unknown, next: (error: unknown) => Classification) => {
			const { retryAfterMs, ...rest } = next(error)
			return error instanceof HttpError && error.statusCode >= 500 ? rest : next(error)
		}
		for (const [status, openFor] of [
			[503, 1_000],
			[429, 5_000],
		] as const) {
			const { breaker } = setup({ ...sensitive, classify })
			await breaker.settle(() => Promise.reject(new HttpError(status, '', { retryAfterMs: 5_000 })))
			expect(breaker.stats.retryAfterMs).toBe(openFor)
		}
	})

	test("takes its random numbers from the pipeline's runtime", async () => {
		const open = async (seed: number) => {
			const breaker = circuitBreaker({ ...sensitive, resetBackoff: {} })
			await calls(pipeline({ runtime: virtualRuntime({ seed }) }, breaker), 'f')
			return breaker.stats.retryAfterMs
		}
		expect(await open(1)).toBe(await open(1))
		expect(await open(1)).not.toBe(await open(2))
	})
})
