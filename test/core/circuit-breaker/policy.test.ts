import { describe, expect, test, vi } from 'vitest'
import { CircuitBreaker, circuitBreaker, InvalidOptionError } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { calls, fresh, Held, opened, touchy } from './scenes.ts'

describe('a circuit breaker', () => {
	test('from the factory is the class of the same name', () => {
		expect(circuitBreaker()).toBeInstanceOf(CircuitBreaker)
		expect(circuitBreaker({ name: 'payments' }).name).toBe('payments')
	})

	test('lets calls through and hands their results on, called before execute returns', async () => {
		const { breaker } = fresh()
		const work = vi.fn(() => 7)
		const answer = breaker.execute(work)
		expect(work).toHaveBeenCalledOnce()
		expect(await answer).toBe(7)
	})

	test('throws the error of the work itself', async () => {
		const { breaker } = fresh()
		const error = new Error('down')
		await expect(breaker.execute(() => Promise.reject(error))).rejects.toBe(error)
	})

	test('told nothing opens after 5 failures, for 30 seconds, and closes after 2 good probes', async () => {
		const { breaker, clock } = fresh()
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

	test('told nothing does not add up failures that are more than a minute apart', async () => {
		const { breaker, clock } = fresh()
		await calls(breaker, 'ffff')
		await clock.advance(60_001)
		await calls(breaker, 'ffff')
		expect(breaker.currentState).toBe('closed')
		await calls(breaker, 'f')
		expect(breaker.currentState).toBe('open')
	})

	test('begins to count anew after every success', async () => {
		const { breaker } = fresh()
		await calls(breaker, 'ffffsffff')
		expect(breaker.currentState).toBe('closed')
		expect(breaker.stats).toMatchObject({
			failureCount: 8,
			successCount: 1,
			errorRate: 8 / 9,
			consecutiveFailures: 4,
		})
	})

	test('counts on after a long row of successes, which it did not look at one by one', async () => {
		const { breaker } = fresh()
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

	test('a single success among a thousand that nobody timed still ends a row of failures', async () => {
		const { breaker } = fresh()
		await calls(breaker, `${'s'.repeat(200)}ffffsffff`)
		expect(breaker.currentState).toBe('closed')
	})

	test('a failed probe opens it again, for the whole time', async () => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		await calls(breaker, 'f')
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 1_000 })
	})

	test('an error rate opens it, over time or over the latest calls', async () => {
		for (const window of [{ monitorWindowMs: 10_000 }, { windowSize: 10 }]) {
			const { breaker } = fresh({ ...window, failureThreshold: Infinity, errorRateThreshold: 0.6 })
			await calls(breaker, 'sfsfsfsff')
			expect(breaker.currentState).toBe('closed')
			await calls(breaker, 'f')
			expect(breaker.stats).toMatchObject({ state: 'open', errorRate: 0.6 })
		}
	})

	test('a time window forgets, a count window does not', async () => {
		const rate = { failureThreshold: Infinity, errorRateThreshold: 0.5 }
		const timed = fresh({ ...rate, monitorWindowMs: 10_000 })
		const counted = fresh({ ...rate, windowSize: 10 })
		for (const { breaker, clock } of [timed, counted]) {
			await calls(breaker, 'fffffff')
			await clock.advance(10_000)
			await calls(breaker, 'sss')
		}
		expect(timed.breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, successCount: 3 })
		expect(counted.breaker.stats).toMatchObject({ state: 'open', failureCount: 7, successCount: 3 })
	})

	test('slow calls open it although they go well, and a slow probe opens it again', async () => {
		const { breaker, clock } = fresh({ slowCallMs: 100, minimumRequests: 2, resetTimeoutMs: 1_000 })
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

	test('a call that answers just in time is not slow', async () => {
		const { breaker, clock } = fresh({ slowCallMs: 100 })
		const held = new Held()
		const answer = breaker.execute(held.work)
		await clock.advance(99)
		held.succeed()
		await answer
		expect(breaker.stats).toMatchObject({ slowCallCount: 0, successCount: 1 })
	})

	test('refuses options that can not work, by name', () => {
		expect(() => circuitBreaker({ failureThreshold: 0 })).toThrow(InvalidOptionError)
		expect(() => circuitBreaker({ failureTreshold: 5 } as object)).toThrow(
			'Unknown option "failureTreshold" for circuitBreaker. Did you mean "failureThreshold"?',
		)
	})

	test('refuses work that is no function with a rejection', async () => {
		const { breaker } = fresh()
		await expect(breaker.execute(7 as never)).rejects.toMatchObject({ optionPath: 'fn' })
		await expect(breaker.execute(7 as never, () => 1)).rejects.toMatchObject({ optionPath: 'fn' })
	})
})

describe('a half-open circuit', () => {
	test('lets one of many callers through that come at once, and refuses the others without queueing', async () => {
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

	test('lets as many probe at a time as it is told', async () => {
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

	test('needs all its successes at one time: a failed probe begins from nothing', async () => {
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
	test('own no timer, whatever state they are in', async () => {
		const clock = virtualRuntime()
		for (let i = 0; i < 100; i++) {
			const breaker = circuitBreaker({ ...touchy, runtime: clock })
			await calls(breaker, 'f')
			if (i % 2) breaker.isolate()
		}
		expect(clock.pendingTimers).toBe(0)
	})

	test('do not disturb each other', async () => {
		const clock = virtualRuntime()
		const [one, two] = [
			circuitBreaker({ ...touchy, runtime: clock }),
			circuitBreaker({ ...touchy, runtime: clock }),
		]
		await calls(one, 'f')
		expect([one.currentState, two.currentState]).toEqual(['open', 'closed'])
	})
})
