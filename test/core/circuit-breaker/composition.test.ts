import { describe, expect, test, vi } from 'vitest'
import { bulkhead, circuitBreaker, explain, pipeline, retry, timeout, type YaokiEvent } from 'yaoki'
import { skipDelays, virtualRuntime } from 'yaoki/testing'
import { dead, exceptCalls, failing, settled, steady, taking } from '../../support/scenario.ts'
import { calls, errorOf, Held, opened, sensitive, setup } from './setup.ts'

describe('with a retry inside, a breaker', () => {
	test('counts a call once, by its final outcome', async () => {
		const { breaker, clock } = setup({ failureThreshold: 2 })
		const policy = pipeline({ runtime: clock }, breaker, retry({ ...steady, maxRetries: 2 }))
		await settled(clock, policy.execute(failing(clock, new Error('down'), new Error('down'))))
		expect(breaker.stats).toMatchObject({ successCount: 1, failureCount: 0 })
		await settled(clock, policy.execute(dead(clock)))
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 1 })
		await settled(clock, policy.execute(dead(clock)))
		expect(breaker.currentState).toBe('open')
	})

	test('lets the retries of a call in flight continue when it opens', async () => {
		const { breaker, clock } = setup(sensitive)
		const policy = pipeline({ runtime: clock }, breaker, retry({ ...steady, maxRetries: 2 }))
		const work = failing(clock, new Error('down'), new Error('down'))
		const answer = settled(clock, policy.execute(work))
		await calls(breaker, 'f')
		expect(await answer).toEqual({ ok: true, value: 'ok' })
		expect(breaker.currentState).toBe('open')
	})
})

describe('with a retry outside, a breaker', () => {
	test('counts every attempt, and ends the retries when it opens', async () => {
		const { breaker, clock } = setup({ failureThreshold: 3 })
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 9 }), breaker)
		const work = dead(clock)
		const error = errorOf(await settled(clock, policy.execute(work)))
		expect(error).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(work.startedAt).toEqual([0, 100, 300])
		expect(breaker.stats).toMatchObject({ state: 'open', failureCount: 3 })
		expect(explain(error)).toMatchObject({
			stop: 'cancelled',
			attempts: [
				{ outcome: 'transient', errorMessage: 'down', delayMs: 100 },
				{ outcome: 'transient', errorMessage: 'down', delayMs: 200 },
				{ outcome: 'transient', errorMessage: 'down', delayMs: 400 },
				{ outcome: 'cancelled', errorType: 'CircuitOpenError' },
			],
		})
	})

	test('is waited for by a retry that retries rejections, for retryAfterMs, and then probed', async () => {
		const { breaker, clock } = setup(sensitive)
		// No jitter on top of retryAfterMs.
		vi.spyOn(clock, 'random').mockReturnValue(0)
		const policy = pipeline({ runtime: clock }, retry({ ...steady, shouldRetry: () => true }), breaker)
		const work = failing(clock, new Error('down'))
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'ok' })
		expect(work.startedAt).toEqual([0, 1_000])
		expect(breaker.currentState).toBe('closed')
	})

	test('is asked by skipDelays at the times of real waits', async () => {
		const { breaker, clock } = setup(sensitive)
		const policy = skipDelays(
			pipeline({ runtime: clock }, retry({ ...steady, shouldRetry: () => true }), breaker),
		)
		expect(await policy.execute(failing(clock, new Error('down')))).toBe('ok')
		expect(clock.now()).toBe(0)
	})
})

describe('two pipelines that share a breaker', () => {
	test('both find it open, and events name the pipeline of the call', async () => {
		const clock = virtualRuntime()
		// Its own runtime: a direct call does not use the clock of a pipeline.
		const breaker = circuitBreaker({ failureThreshold: 2, runtime: clock })
		const orders = pipeline({ runtime: clock, name: 'orders' }, breaker, timeout(50))
		const reports = pipeline({ runtime: clock, name: 'reports' }, bulkhead(), breaker)
		const events: YaokiEvent[] = []
		breaker.subscribe(exceptCalls((event) => events.push(event)))
		await calls(orders, 'f')
		await calls(reports, 'f')
		expect(breaker.currentState).toBe('open')
		for (const policy of [orders, reports, breaker])
			expect(errorOf(await policy.settle(() => 1))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(events.map(({ type, pipeline: name }) => [type, name])).toEqual([
			['failure', 'orders'],
			['failure', 'reports'],
			['state_change', 'reports'],
			['rejected', 'orders'],
			['rejected', 'reports'],
			['rejected', undefined],
		])
	})

	test('share one probe slot', async () => {
		const { breaker, clock } = await opened()
		const [one, two] = [pipeline({ runtime: clock }, breaker), pipeline({ runtime: clock }, breaker)]
		await clock.advance(1_000)
		const probe = new Held()
		const first = one.execute(probe.work)
		expect((await two.settle(probe.work)).ok).toBe(false)
		probe.succeed()
		await first
		expect(await two.execute(() => 'closed')).toBe('closed')
	})
})

describe('the clock', () => {
	test('the clock of the pipeline is used for stats, state and snapshots', async () => {
		const clock = virtualRuntime()
		const breaker = circuitBreaker(sensitive)
		await calls(pipeline({ runtime: clock }, breaker), 'f')
		await clock.advance(400)
		expect(breaker.stats.retryAfterMs).toBe(600)
		expect(breaker.snapshot()).toMatchObject({ at: clock.wallNow(), openForMs: 600 })
		await clock.advance(60_000)
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 0, failureCount: 0 })
	})

	test('the clock of its own is kept in a pipeline with another one', async () => {
		const { breaker, clock } = setup()
		const other = virtualRuntime()
		const policy = pipeline({ runtime: other }, breaker)
		await other.advance(3_600_000)
		await calls(policy, 'sss')
		expect(breaker.stats.successCount).toBe(3)
		await clock.advance(60_000)
		expect(breaker.stats.successCount).toBe(0)
	})

	test('the clock of its own measures slow calls in a pipeline with another one', async () => {
		const { breaker, clock } = setup({ slowCallMs: 100 })
		const policy = pipeline({ runtime: virtualRuntime() }, breaker)
		const answer = policy.execute(taking(clock, 150))
		await clock.advance(150)
		await answer
		expect(breaker.stats.slowCallCount).toBe(1)
	})
})
