import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test, vi } from 'vitest'
import {
	bulkhead,
	circuitBreaker,
	Deadline,
	explain,
	fallback,
	hedge,
	pipeline,
	rateLimiter,
	retry,
	timeout,
	type YaokiEvent,
} from 'yaoki'
import { virtualRuntime, withoutWaiting } from 'yaoki/testing'
import { dead, failing, settled, steady, taking } from '../../scenario.ts'
import { calls, errorOf, fresh, Held, never, opened, touchy } from './scenes.ts'

describe('with a retry inside, a breaker', () => {
	test('counts a call once, by what came of it in the end', async () => {
		const { breaker, clock } = fresh({ failureThreshold: 2 })
		const policy = pipeline({ runtime: clock }, breaker, retry({ ...steady, maxRetries: 2 }))
		await settled(clock, policy.execute(failing(clock, new Error('down'), new Error('down'))))
		expect(breaker.stats).toMatchObject({ successCount: 1, failureCount: 0 })
		await settled(clock, policy.execute(dead(clock)))
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 1 })
		await settled(clock, policy.execute(dead(clock)))
		expect(breaker.currentState).toBe('open')
	})

	test('lets the retries of a call under way go on when it opens', async () => {
		const { breaker, clock } = fresh(touchy)
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
		const { breaker, clock } = fresh({ failureThreshold: 3 })
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

	test('is waited for by a retry that says so, for as long as the refusal asks, and probed then', async () => {
		const { breaker, clock } = fresh(touchy)
		const policy = pipeline({ runtime: clock }, retry({ ...steady, shouldRetry: () => true }), breaker)
		const work = failing(clock, new Error('down'))
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'ok' })
		expect(work.startedAt).toEqual([0, 1_000])
		expect(breaker.currentState).toBe('closed')
	})

	test('is asked by withoutWaiting at the times at which it would have been', async () => {
		const { breaker, clock } = fresh(touchy)
		const policy = withoutWaiting(
			pipeline({ runtime: clock }, retry({ ...steady, shouldRetry: () => true }), breaker),
		)
		expect(await policy.execute(failing(clock, new Error('down')))).toBe('ok')
		expect(clock.now()).toBe(0)
	})
})

describe('two pipelines that share a breaker', () => {
	test('find it open together, and events tell which of them a call went through', async () => {
		const clock = virtualRuntime()
		const breaker = circuitBreaker({ failureThreshold: 2 })
		const orders = pipeline({ runtime: clock, name: 'orders' }, breaker, timeout(50))
		const reports = pipeline({ runtime: clock, name: 'reports' }, bulkhead(), breaker)
		const events: YaokiEvent[] = []
		breaker.subscribe((event) => events.push(event))
		await calls(orders, 'f')
		await calls(reports, 'f')
		expect(breaker.currentState).toBe('open')
		for (const policy of [orders, reports, breaker])
			expect(errorOf(await policy.settle(() => 1))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(events.map(({ type, pipeline: name }) => [type, name])).toEqual([
			['failure', 'orders'],
			['failure', 'reports'],
			['state_change', undefined],
			['rejected', 'orders'],
			['rejected', 'reports'],
			['rejected', undefined],
		])
	})

	test('have one probe between them', async () => {
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
	test('of the pipeline is that of stats, of the state and of snapshots', async () => {
		const clock = virtualRuntime()
		const breaker = circuitBreaker(touchy)
		await calls(pipeline({ runtime: clock }, breaker), 'f')
		await clock.advance(400)
		expect(breaker.stats.retryAfterMs).toBe(600)
		expect(breaker.snapshot()).toMatchObject({ at: clock.wallNow(), openForMs: 600 })
		await clock.advance(60_000)
		expect(breaker.stats).toMatchObject({ state: 'open', retryAfterMs: 0, failureCount: 0 })
	})

	test('of its own is kept in a pipeline that has another: successes were then dated by the wrong one', async () => {
		const { breaker, clock } = fresh()
		const other = virtualRuntime()
		const policy = pipeline({ runtime: other }, breaker)
		await other.advance(3_600_000)
		await calls(policy, 'sss')
		expect(breaker.stats.successCount).toBe(3)
		await clock.advance(60_000)
		expect(breaker.stats.successCount).toBe(0)
	})

	test('of its own measures slow calls in a pipeline that has another', async () => {
		const { breaker, clock } = fresh({ slowCallMs: 100 })
		const policy = pipeline({ runtime: virtualRuntime() }, breaker)
		const answer = policy.execute(taking(clock, 150))
		await clock.advance(150)
		await answer
		expect(breaker.stats.slowCallCount).toBe(1)
	})
})

describe('beside other policies, a breaker', () => {
	test('inside a rate limiter’s wait looks at the clock after it', async () => {
		const { breaker, clock } = await opened()
		const policy = pipeline(
			{ runtime: clock },
			rateLimiter({ limit: 1, intervalMs: 2_000, maxWaitMs: 5_000 }),
			breaker,
		)
		await policy.settle(() => 1)
		const waiting = policy.execute(() => 'probe')
		await clock.advance(2_000)
		expect(await waiting).toBe('probe')
	})

	test('is answered for by a fallback policy around it', async () => {
		const { breaker, clock } = await opened()
		const policy = pipeline({ runtime: clock }, fallback('from the cache'), breaker)
		expect(await policy.execute(() => 'fresh')).toBe('from the cache')
	})

	test('counts what the work did, not what a fallback further out made of it', async () => {
		const { breaker, clock } = fresh(touchy)
		await pipeline({ runtime: clock }, fallback('x'), breaker).execute(() =>
			Promise.reject(new Error('down')),
		)
		expect(breaker.currentState).toBe('open')
		const inner = fresh(touchy)
		await pipeline({ runtime: inner.clock }, inner.breaker, fallback('x')).execute(() =>
			Promise.reject(new Error('down')),
		)
		expect(inner.breaker.stats).toMatchObject({ state: 'closed', successCount: 1 })
	})

	test('inside a hedge does not hear of the request that lost', async () => {
		const { breaker, clock } = fresh(touchy)
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 10 }), breaker)
		const works = [taking(clock, 100, new Error('down')), taking(clock, 5)]
		const result = await settled(
			clock,
			policy.execute(() => works.shift()?.()),
		)
		expect(result).toEqual({ ok: true, value: 'ok' })
		expect(breaker.stats).toMatchObject({ state: 'closed', successCount: 1, failureCount: 0 })
	})

	test('inside a hedge has its probe’s place free again when the probe lost', async () => {
		const { breaker, clock } = await opened({ halfOpenMaxConcurrent: 2, successThreshold: 2 })
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 10 }), breaker)
		await clock.advance(1_000)
		const works = [never, taking(clock, 5)]
		const answer = policy.execute((): unknown => works.shift()?.())
		await clock.advance(15)
		await answer
		const probes = new Held()
		const crowd = [1, 2, 3].map(() => breaker.settle(probes.work))
		expect(probes.started).toBe(2)
		probes.succeed(0)
		probes.succeed(1)
		await Promise.all(crowd)
		expect(breaker.currentState).toBe('closed')
	})

	test('gives a bulkhead outside of it the slot back at once when it refuses', async () => {
		const { breaker, clock } = await opened()
		const hall = bulkhead({ maxConcurrent: 1, maxQueue: 0 })
		const policy = pipeline({ runtime: clock }, hall, breaker)
		for (let i = 0; i < 5; i++)
			expect(errorOf(await policy.settle(() => 1))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(hall.stats.concurrent).toBe(0)
	})

	test('is not reached by a call whose deadline has passed', async () => {
		const { breaker, clock } = await opened()
		await clock.advance(1_000)
		const deadline = Deadline.after(0, { runtime: clock })
		const work = vi.fn()
		expect(errorOf(await breaker.settle(work, { deadline }))).toMatchObject({
			name: 'DeadlineExceededError',
		})
		expect(work).not.toHaveBeenCalled()
		expect(breaker.currentState).toBe('open')
	})

	test('runs its fallback in the caller’s own async context', async () => {
		const { breaker } = await opened()
		const storage = new AsyncLocalStorage<string>()
		const ask = (who: string) =>
			storage.run(who, () =>
				breaker.execute(
					() => 'fresh',
					() => storage.getStore(),
				),
			)
		expect(await Promise.all([ask('ann'), ask('bob')])).toEqual(['ann', 'bob'])
	})

	test('works without promises, too', () => {
		const { breaker, clock } = fresh(touchy)
		const answers: unknown[] = []
		const ask = (error?: Error) =>
			clock.run(
				breaker,
				(_, done) => done(error),
				(failure) => answers.push(failure instanceof Error ? failure.name : 'ok'),
			)
		ask(new Error('down'))
		ask()
		clock.runTimers(1_000)
		ask()
		expect(answers).toEqual(['Error', 'CircuitOpenError', 'ok'])
		expect(breaker.currentState).toBe('closed')
	})
})
