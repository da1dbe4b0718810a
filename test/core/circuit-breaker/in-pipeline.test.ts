import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test, vi } from 'vitest'
import { bulkhead, Deadline, fallback, hedge, pipeline, rateLimiter } from 'yaoki'
import { settled, taking } from '../../support/scenario.ts'
import { errorOf, Held, never, opened, sensitive, setup } from './setup.ts'

describe('with other policies, a breaker', () => {
	test('inside a rate limiter reads the clock after its wait', async () => {
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

	test('is replaced by an outer fallback', async () => {
		const { breaker, clock } = await opened()
		const policy = pipeline({ runtime: clock }, fallback('from the cache'), breaker)
		expect(await policy.execute(() => 'setup')).toBe('from the cache')
	})

	test("counts the operation's outcome, not that of an outer fallback", async () => {
		const { breaker, clock } = setup(sensitive)
		await pipeline({ runtime: clock }, fallback('x'), breaker).execute(() =>
			Promise.reject(new Error('down')),
		)
		expect(breaker.currentState).toBe('open')
		const inner = setup(sensitive)
		await pipeline({ runtime: inner.clock }, inner.breaker, fallback('x')).execute(() =>
			Promise.reject(new Error('down')),
		)
		expect(inner.breaker.stats).toMatchObject({ state: 'closed', successCount: 1 })
	})

	test('inside a hedge ignores the request that lost', async () => {
		const { breaker, clock } = setup(sensitive)
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 10 }), breaker)
		const works = [taking(clock, 100, new Error('down')), taking(clock, 5)]
		const result = await settled(
			clock,
			policy.execute(() => works.shift()?.()),
		)
		expect(result).toEqual({ ok: true, value: 'ok' })
		expect(breaker.stats).toMatchObject({ state: 'closed', successCount: 1, failureCount: 0 })
	})

	test('inside a hedge frees its probe slot when the probe lost', async () => {
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

	test('inside a bulkhead frees the slot immediately when it rejects', async () => {
		const { breaker, clock } = await opened()
		const hall = bulkhead({ maxConcurrent: 1, maxQueue: 0 })
		const policy = pipeline({ runtime: clock }, hall, breaker)
		for (let i = 0; i < 5; i++)
			expect(errorOf(await policy.settle(() => 1))).toMatchObject({ code: 'YAOKI_CIRCUIT_OPEN' })
		expect(hall.stats.concurrent).toBe(0)
	})

	test('is not reached by a call whose deadline has expired', async () => {
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

	test("runs its fallback in the caller's async context", async () => {
		const { breaker } = await opened()
		const storage = new AsyncLocalStorage<string>()
		const ask = (who: string) =>
			storage.run(who, () =>
				breaker.execute(
					() => 'setup',
					() => storage.getStore(),
				),
			)
		expect(await Promise.all([ask('ann'), ask('bob')])).toEqual(['ann', 'bob'])
	})

	test('works with the callback runner', () => {
		const { breaker, clock } = setup(sensitive)
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
