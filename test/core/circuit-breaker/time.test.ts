import { describe, expect, test } from 'vitest'
import { bulkhead, pipeline } from 'yaoki'
import { taking } from '../../support/scenario.ts'
import { calls, Held, opened, sensitive, setup } from './setup.ts'

describe('time', () => {
	test('a 10 s window is empty after an idle hour', async () => {
		const rules = [{}, { errorRateThreshold: 0.5 }, { slowCallMs: 50 }]
		for (const rule of rules) {
			const { breaker, clock } = setup({ monitorWindowMs: 10_000, failureThreshold: 99, ...rule })
			await calls(breaker, 'ssfff')
			await clock.advance(3_600_000)
			expect(breaker.stats).toMatchObject({
				failureCount: 0,
				successCount: 0,
				errorRate: 0,
				slowCallCount: 0,
				consecutiveFailures: 0,
			})
		}
	})

	test('old failures do not open the circuit with the first new one after an idle hour', async () => {
		const { breaker, clock } = setup({ monitorWindowMs: 10_000, errorRateThreshold: 0.5, minimumRequests: 5 })
		await calls(breaker, 'ffff')
		await clock.advance(3_600_000)
		await calls(breaker, 'f')
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 1 })
	})

	test('a wall clock jump of an hour has no effect, in either direction', async () => {
		for (const jump of [3_600_000, -3_600_000]) {
			const { breaker, clock } = setup({ ...sensitive, failureThreshold: 2 })
			await calls(breaker, 'f')
			clock.jumpWallClock(jump)
			await calls(breaker, 'f')
			expect(breaker.stats).toMatchObject({ state: 'open', failureCount: 2, retryAfterMs: 1_000 })
			clock.jumpWallClock(jump)
			await clock.advance(999)
			expect((await breaker.settle(() => 1)).ok).toBe(false)
			await clock.advance(1)
			expect((await breaker.settle(() => 1)).ok).toBe(true)
		}
	})

	test('regression: after a busy hour without a clock read the stats had no success', async () => {
		const { breaker, clock } = setup({ monitorWindowMs: 10_000 })
		for (let second = 0; second < 3_600; second++) {
			await breaker.execute(() => 1)
			clock.runTimers(1_000)
		}
		await calls(breaker, 'f')
		const { successCount, failureCount } = breaker.stats
		expect(failureCount).toBe(1)
		// Ten there were; between two looks at the clock they are taken to be spread evenly.
		expect(successCount).toBeGreaterThanOrEqual(8)
		expect(successCount).toBeLessThanOrEqual(11)
	})

	test('regression: the stats had all successes of a busy hour whose calls were timed', async () => {
		const { breaker, clock } = setup({ monitorWindowMs: 10_000 })
		for (let second = 0; second < 3_600; second++) {
			await breaker.execute(() => 1, { name: 'timed' })
			clock.runTimers(1_000)
		}
		const { successCount } = breaker.stats
		expect(successCount).toBeGreaterThanOrEqual(8)
		expect(successCount).toBeLessThanOrEqual(11)
	})

	test('an idle hour after hundreds of successes without a time leaves a 10 s window empty', async () => {
		const { breaker, clock } = setup({ monitorWindowMs: 10_000 })
		await calls(breaker, 's'.repeat(300))
		expect(breaker.stats.successCount).toBe(300)
		await calls(breaker, 's'.repeat(307))
		clock.runTimers(3_600_000)
		expect(breaker.stats).toMatchObject({ successCount: 0, failureCount: 0, errorRate: 0 })
	})

	test('a call that took an hour is in no window but ends consecutive failures', async () => {
		const { breaker, clock } = setup({ failureThreshold: 2 })
		const held = new Held()
		const long = breaker.execute(held.work)
		await clock.advance(3_600_000)
		await calls(breaker, 'f')
		held.succeed()
		await long
		await calls(breaker, 'f')
		expect(breaker.stats).toMatchObject({ state: 'closed', consecutiveFailures: 1, failureCount: 2 })
	})

	test('an open time can be longer than a JavaScript timer allows', async () => {
		const { breaker, clock } = await opened({ resetTimeoutMs: 2 ** 31 + 5 })
		await clock.advance(2 ** 31 + 4)
		expect((await breaker.settle(() => 1)).ok).toBe(false)
		await clock.advance(1)
		expect((await breaker.settle(() => 1)).ok).toBe(true)
	})

	test("time in a bulkhead's queue counts: the circuit may be probed by then", async () => {
		const { breaker, clock } = await opened()
		const policy = pipeline({ runtime: clock }, bulkhead({ maxConcurrent: 1 }), breaker)
		breaker.update({ shadow: true })
		const first = policy.execute(taking(clock, 2_000))
		breaker.update({ shadow: false })
		const queued = policy.execute(() => 'probe')
		await clock.advance(2_000)
		await first
		expect(await queued).toBe('probe')
		expect(breaker.currentState).toBe('closed')
	})
})
