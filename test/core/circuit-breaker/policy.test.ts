import { describe, expect, test, vi } from 'vitest'
import { circuitBreaker, InvalidOptionError } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { CircuitBreaker } from '../../../src/core/circuit-breaker/circuit-breaker.ts'
import { calls, Held, opened, sensitive, setup } from './setup.ts'

describe('a circuit breaker', () => {
	test('the factory creates an instance of the class', () => {
		expect(circuitBreaker()).toBeInstanceOf(CircuitBreaker)
		expect(circuitBreaker({ name: 'payments' }).name).toBe('payments')
	})

	test('passes results on, and calls the operation before execute returns', async () => {
		const { breaker } = setup()
		const work = vi.fn(() => 7)
		const answer = breaker.execute(work)
		expect(work).toHaveBeenCalledOnce()
		expect(await answer).toBe(7)
	})

	test("throws the operation's own error", async () => {
		const { breaker } = setup()
		const error = new Error('down')
		await expect(breaker.execute(() => Promise.reject(error))).rejects.toBe(error)
	})

	test('opens after 5 failures by default, for 30 seconds, and closes after 2 successful probes', async () => {
		const { breaker, clock } = setup()
		await calls(breaker, 'ffff')
		expect(breaker.currentState).toBe('closed')
		await calls(breaker, 'f')
		expect(breaker.currentState).toBe('open')
		await clock.advance(29_999)
		const work = vi.fn()
		await expect(breaker.execute(work)).rejects.toMatchObject({ retryAfterMs: 1 })
		expect(work).not.toHaveBeenCalled()
		await clock.advance(1)
		expect(breaker.currentState).toBe('open')
		await calls(breaker, 's')
		expect(breaker.currentState).toBe('half-open')
		await calls(breaker, 's')
		expect(breaker.currentState).toBe('closed')
	})

	test('does not add up failures more than a minute apart by default', async () => {
		const { breaker, clock } = setup()
		await calls(breaker, 'ffff')
		await clock.advance(60_001)
		await calls(breaker, 'ffff')
		expect(breaker.currentState).toBe('closed')
		await calls(breaker, 'f')
		expect(breaker.currentState).toBe('open')
	})

	test('starts counting again after every success', async () => {
		const { breaker } = setup()
		await calls(breaker, 'ffffsffff')
		expect(breaker.currentState).toBe('closed')
		expect(breaker.stats).toMatchObject({
			failureCount: 8,
			successCount: 1,
			errorRate: 8 / 9,
			consecutiveFailures: 4,
		})
	})

	test('continues to count after many successes that it did not record one by one', async () => {
		const { breaker } = setup()
		await calls(breaker, `${'s'.repeat(1_000)}ffff`)
		expect(breaker.stats).toMatchObject({
			state: 'closed',
			successCount: 1_000,
			failureCount: 4,
			consecutiveFailures: 4,
		})
		await calls(breaker, 'f')
		expect(breaker.currentState).toBe('open')
	})

	test('a single success among a thousand without a time ends consecutive failures', async () => {
		const { breaker } = setup()
		await calls(breaker, `${'s'.repeat(200)}ffffsffff`)
		expect(breaker.currentState).toBe('closed')
	})

	test('a failed probe opens it again, for the whole time', async () => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		await calls(breaker, 'f')
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 1_000 })
	})

	test('an error rate opens it, over time or over the last calls', async () => {
		for (const window of [{ monitorWindowMs: 10_000 }, { windowSize: 10 }]) {
			const { breaker } = setup({ ...window, failureThreshold: Infinity, errorRateThreshold: 0.6 })
			await calls(breaker, 'sfsfsfsff')
			expect(breaker.currentState).toBe('closed')
			await calls(breaker, 'f')
			expect(breaker.stats).toMatchObject({ state: 'open', errorRate: 0.6 })
		}
	})

	test('a time window forgets, a count window does not', async () => {
		const rate = { failureThreshold: Infinity, errorRateThreshold: 0.5 }
		const timed = setup({ ...rate, monitorWindowMs: 10_000 })
		const counted = setup({ ...rate, windowSize: 10 })
		for (const { breaker, clock } of [timed, counted]) {
			await calls(breaker, 'fffffff')
			await clock.advance(10_000)
			await calls(breaker, 'sss')
		}
		expect(timed.breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, successCount: 3 })
		expect(counted.breaker.stats).toMatchObject({ state: 'open', failureCount: 7, successCount: 3 })
	})

	test('slow calls open it although they succeed, and a slow probe opens it again', async () => {
		const { breaker, clock } = setup({ slowCallMs: 100, minimumRequests: 2, resetTimeoutMs: 1_000 })
		const slow = async () => {
			const held = new Held()
			const answer = breaker.execute(held.work)
			await clock.advance(100)
			held.succeed()
			return answer
		}
		expect(await slow()).toBe('ok')
		expect(breaker.stats).toMatchObject({ state: 'closed', slowCallCount: 1, slowCallRate: 1 })
		await slow()
		expect(breaker.currentState).toBe('open')
		await clock.advance(1_000)
		await slow()
		expect(breaker.currentState).toBe('open')
	})

	test('a call that takes just less than slowCallMs is not slow', async () => {
		const { breaker, clock } = setup({ slowCallMs: 100 })
		const held = new Held()
		const answer = breaker.execute(held.work)
		await clock.advance(99)
		held.succeed()
		await answer
		expect(breaker.stats).toMatchObject({ slowCallCount: 0, successCount: 1 })
	})

	test('rejects invalid options by name', () => {
		expect(() => circuitBreaker({ failureThreshold: 0 })).toThrow(InvalidOptionError)
		expect(() => circuitBreaker({ failureTreshold: 5 } as object)).toThrow(
			'Unknown option "failureTreshold" for circuitBreaker. Did you mean "failureThreshold"?',
		)
	})

	test('rejects an operation that is not a function', async () => {
		const { breaker } = setup()
		await expect(breaker.execute(7 as never)).rejects.toMatchObject({ argument: 'fn' })
		await expect(breaker.execute(7 as never, () => 1)).rejects.toMatchObject({ argument: 'fn' })
	})
})

describe('a half-open circuit', () => {
	test('admits one of many concurrent callers and rejects the others without queueing', async () => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		const probe = new Held()
		const crowd = Array.from({ length: 50 }, () => breaker.settle(probe.work))
		expect(probe.started).toBe(1)
		expect(breaker.stats).toMatchObject({ state: 'half-open', rejectedCount: 49 })
		probe.succeed()
		const results = await Promise.all(crowd)
		expect(results.filter(({ ok }) => ok)).toHaveLength(1)
		expect(probe.started).toBe(1)
		expect(breaker.currentState).toBe('closed')
	})

	test('admits as many concurrent probes as configured', async () => {
		const { breaker, clock } = await opened({ halfOpenMaxConcurrent: 3, successThreshold: 4 })
		await clock.advance(1_000)
		const probe = new Held()
		const crowd = Array.from({ length: 10 }, () => breaker.settle(probe.work))
		expect(probe.started).toBe(3)
		for (const index of [0, 1, 2]) probe.succeed(index)
		await Promise.all(crowd)
		expect(breaker.stats).toMatchObject({ state: 'half-open', successCount: 3 })
		await calls(breaker, 's')
		expect(breaker.currentState).toBe('closed')
	})

	test('needs all successes in one half-open state: a failed probe starts again', async () => {
		const { breaker, clock } = await opened({ successThreshold: 2 })
		await clock.advance(1_000)
		await calls(breaker, 'sf')
		await clock.advance(1_000)
		await calls(breaker, 's')
		expect(breaker.currentState).toBe('half-open')
		await calls(breaker, 's')
		expect(breaker.currentState).toBe('closed')
	})
})

describe('many breakers', () => {
	test('own no timer in any state', async () => {
		const clock = virtualRuntime()
		for (let i = 0; i < 100; i++) {
			const breaker = circuitBreaker({ ...sensitive, runtime: clock })
			await calls(breaker, 'f')
			if (i % 2) breaker.isolate()
		}
		expect(clock.pendingTimers).toBe(0)
	})

	test('do not affect each other', async () => {
		const clock = virtualRuntime()
		const [one, two] = [
			circuitBreaker({ ...sensitive, runtime: clock }),
			circuitBreaker({ ...sensitive, runtime: clock }),
		]
		await calls(one, 'f')
		expect([one.currentState, two.currentState]).toEqual(['open', 'closed'])
	})
})
