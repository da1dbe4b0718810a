import { describe, expect, test, vi } from 'vitest'
import { type circuitBreaker, pipeline, retry, timeout } from 'yaoki'
import { settled, taking } from '../../support/scenario.ts'
import { calls, errorOf, Held, never, opened, sensitive, setup } from './setup.ts'

describe('a late result of an older generation is ignored', () => {
	test('a success does not close an open or half-open circuit', async () => {
		const { breaker, clock } = setup(sensitive)
		const held = new Held()
		const [before, during] = [breaker.execute(held.work), breaker.execute(held.work)]
		await calls(breaker, 'f')
		held.succeed(0)
		await before
		expect(breaker.currentState).toBe('open')
		await clock.advance(1_000)
		const probe = breaker.execute(held.work)
		held.succeed(1)
		await during
		expect(breaker.stats).toMatchObject({ state: 'half-open', successCount: 0 })
		held.succeed(2)
		await probe
		expect(breaker.currentState).toBe('closed')
	})

	test('a failure does not open a circuit that has closed again', async () => {
		const { breaker, clock } = setup(sensitive)
		const held = new Held()
		const old = breaker.settle(held.work)
		await calls(breaker, 'f')
		await clock.advance(1_000)
		await calls(breaker, 's')
		held.fail()
		await old
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0 })
	})

	test('a success does not end the consecutive failures of a circuit that has closed again', async () => {
		const { breaker, clock } = setup({ ...sensitive, failureThreshold: 2 })
		const held = new Held()
		const old = breaker.execute(held.work)
		await calls(breaker, 'ff')
		await clock.advance(1_000)
		await calls(breaker, 'sf')
		held.succeed()
		await old
		expect(breaker.stats).toMatchObject({ state: 'closed', successCount: 0, consecutiveFailures: 1 })
		await calls(breaker, 'f')
		expect(breaker.currentState).toBe('open')
	})

	test('a failure does not extend the open time', async () => {
		const { breaker, clock } = setup(sensitive)
		const held = new Held()
		const old = breaker.settle(held.work)
		await calls(breaker, 'f')
		await clock.advance(900)
		held.fail()
		await old
		expect(breaker.stats.retryAfterMs).toBe(100)
	})

	test('a hundred callers that fail together open it once', async () => {
		const changes = vi.fn()
		const { breaker } = setup({ onStateChange: changes })
		const held = new Held()
		const crowd = Array.from({ length: 100 }, () => breaker.settle(held.work))
		for (let i = 0; i < 100; i++) held.fail(i)
		await Promise.all(crowd)
		expect(changes.mock.calls).toEqual([['closed', 'open', { policy: 'circuitBreaker', key: undefined }]])
		expect(breaker.stats.failureCount).toBe(5)
	})

	test("an expired probe neither closes the circuit later nor takes the next probe's slot", async () => {
		const { breaker, clock } = await opened({ probeTimeoutMs: 500 })
		await clock.advance(1_000)
		const held = new Held()
		const hung = breaker.execute(held.work)
		await clock.advance(1_500)
		const next = breaker.execute(held.work)
		held.succeed(0)
		expect(await hung).toBe('ok')
		expect(breaker.currentState).toBe('half-open')
		held.succeed(1)
		await next
		expect(breaker.currentState).toBe('closed')
	})
})

describe('a timeout counts once, when it fires', () => {
	const orders = {
		'inside the breaker': (breaker: ReturnType<typeof circuitBreaker>) => [breaker, timeout(50)],
		'outside of it': (breaker: ReturnType<typeof circuitBreaker>) => [timeout(50), breaker],
	}

	describe.each(Object.entries(orders))('%s', (_, inOrder) => {
		const setupPolicy = (options = {}) => {
			const { breaker, clock } = setup({ ...sensitive, failureThreshold: 2, ...options })
			return { breaker, clock, policy: pipeline({ runtime: clock }, ...inOrder(breaker)) }
		}

		test('counts the timeout, although the operation fails later', async () => {
			const { breaker, clock, policy } = setupPolicy()
			const answer = policy.settle(taking(clock, 80, new Error('down')))
			await clock.advance(49)
			expect(breaker.stats.failureCount).toBe(0)
			await clock.advance(1)
			expect(errorOf(await answer)).toMatchObject({ name: 'TimeoutError' })
			expect(breaker.stats.failureCount).toBe(1)
			await clock.advance(1_000)
			expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 1, successCount: 0 })
		})

		test('counts the timeout, although the operation succeeds later', async () => {
			const { breaker, clock, policy } = setupPolicy()
			const answer = settled(clock, policy.execute(taking(clock, 80)))
			expect(errorOf(await answer)).toMatchObject({ name: 'TimeoutError' })
			expect(clock.now()).toBe(80)
			expect(breaker.stats).toMatchObject({ failureCount: 1, successCount: 0, consecutiveFailures: 1 })
		})

		test('opens the circuit when the timeout fires, not when the operation ends', async () => {
			const { breaker, clock, policy } = setupPolicy({ failureThreshold: 1 })
			void policy.settle(never)
			await clock.advance(50)
			expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 1_000 })
		})

		test('opens the circuit again if a probe times out, and its late result does not affect the next probe', async () => {
			const { breaker, clock, policy } = setupPolicy({ failureThreshold: 1 })
			await calls(breaker, 'f')
			await clock.advance(1_000)
			const held = new Held()
			const hung = policy.settle(held.work)
			await clock.advance(50)
			expect((await hung).ok).toBe(false)
			expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 1_000 })
			await clock.advance(1_000)
			const next = policy.settle(held.work)
			held.succeed(0)
			await clock.advance(10)
			expect(breaker.currentState).toBe('half-open')
			held.succeed(1)
			expect(await next).toEqual({ ok: true, value: 'ok' })
			expect(breaker.currentState).toBe('closed')
		})

		test('counts once after many fast successes', async () => {
			const { breaker, clock, policy } = setupPolicy({ failureThreshold: 1 })
			await calls(policy, 's'.repeat(300))
			void policy.settle(never)
			await clock.advance(50)
			expect(breaker.stats).toMatchObject({ state: 'open', failureCount: 1, successCount: 300 })
		})
	})

	test('a timeout of the whole call counts once for an inner retry that was waiting', async () => {
		const { breaker, clock } = setup()
		const policy = pipeline({ runtime: clock }, timeout(500), breaker, retry({ jitterStrategy: 'none' }))
		await settled(
			clock,
			policy.execute(() => Promise.reject(new Error('down'))),
		)
		expect(clock.now()).toBe(500)
		expect(breaker.stats).toMatchObject({ failureCount: 1, successCount: 0 })
	})
})

describe('a hung probe does not lock the breaker', () => {
	test('it expires after 10 s by default', async () => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		void breaker.execute(never)
		await clock.advance(9_999)
		expect(breaker.currentState).toBe('half-open')
		await clock.advance(1)
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 1_000 })
	})

	test('a caller long afterwards is the next probe immediately', async () => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		void breaker.execute(never)
		await clock.advance(3_600_000)
		expect(await breaker.execute(() => 'alive')).toBe('alive')
		expect(breaker.currentState).toBe('closed')
	})

	test('a probe with an inner timeout has failed when that fires', async () => {
		const { breaker, clock } = await opened()
		const policy = pipeline({ runtime: clock }, breaker, timeout(50))
		await clock.advance(1_000)
		void policy.settle(never)
		await clock.advance(50)
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 1_000 })
	})

	test('a hundred hung probes in a row leave nothing behind', async () => {
		const { breaker, clock } = await opened({ probeTimeoutMs: 1_000 })
		for (let i = 0; i < 100; i++) {
			await clock.advance(2_000)
			void breaker.execute(never)
			expect(breaker.currentState).toBe('half-open')
		}
		await clock.advance(2_000)
		await calls(breaker, 's')
		expect(breaker.currentState).toBe('closed')
		expect(clock.pendingTimers).toBe(0)
	})
})
