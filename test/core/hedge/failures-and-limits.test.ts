import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test, vi } from 'vitest'
import { bulkhead, Deadline, explain, hedge, permanent, pipeline, retry, retryBudget, timeout } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { settled, taking } from '../../support/scenario.ts'
import { requests } from './requests.ts'

const first = new Error('first')
const second = new Error('second')

describe('a hedge whose requests fail', () => {
	test('is not sent after the first has failed: that is for a retry', async () => {
		const clock = virtualRuntime()
		const work = requests(clock, { ms: 20, error: first })
		expect(await settled(clock, hedge({ delayMs: 50, runtime: clock }).execute(work))).toEqual({
			ok: false,
			error: first,
		})
		expect(work.sentAt).toEqual([0])
		expect(clock.now()).toBe(20)
	})

	test('returns the second result if the first fails meanwhile', async () => {
		const clock = virtualRuntime()
		const work = requests(clock, { ms: 60, error: first }, { ms: 100, value: 'second' })
		expect(await settled(clock, hedge({ delayMs: 50, runtime: clock }).execute(work))).toEqual({
			ok: true,
			value: 'second',
		})
		expect(clock.now()).toBe(150)
		expect(work.contexts[1]?.signal.aborted).toBe(false)
	})

	test('returns the first result if the second fails meanwhile', async () => {
		const clock = virtualRuntime()
		const work = requests(clock, { ms: 200, value: 'first' }, { ms: 10, error: second })
		expect(await settled(clock, hedge({ delayMs: 50, runtime: clock }).execute(work))).toEqual({
			ok: true,
			value: 'first',
		})
	})

	test.each([
		['first', 60, 100, 150],
		['last', 200, 10, 200],
	])('ends with the error of the first request if that fails %s', async (_, ms, hedgeMs, end) => {
		const clock = virtualRuntime()
		const unhandled = vi.fn()
		process.on('unhandledRejection', unhandled)
		const work = requests(clock, { ms, error: first }, { ms: hedgeMs, error: second })
		expect(await settled(clock, hedge({ delayMs: 50, runtime: clock }).execute(work))).toEqual({
			ok: false,
			error: first,
		})
		expect(clock.now()).toBe(end)
		await new Promise((resolve) => setImmediate(resolve))
		process.off('unhandledRejection', unhandled)
		expect(unhandled).not.toHaveBeenCalled()
	})

	test('ends immediately with a permanent error of the first, and aborts the second', async () => {
		const clock = virtualRuntime()
		const error = permanent(new Error('no such user'))
		const work = requests(clock, { ms: 60, error }, { ms: 500 })
		const answer = hedge({ delayMs: 50, runtime: clock }).execute(work)
		const end = answer.catch(() => clock.now())
		expect(await settled(clock, answer)).toEqual({ ok: false, error })
		expect(await end).toBe(60)
		expect(work.contexts[1]?.signal.reason).toMatchObject({ code: 'YAOKI_CANCELLED' })
	})

	test('ends immediately with a permanent error of the second, and aborts the first and the third', async () => {
		const clock = virtualRuntime()
		const error = permanent(new Error('no such user'))
		const work = requests(clock, { ms: Infinity }, { ms: 60, error }, { ms: Infinity })
		const policy = hedge({ delayMs: 50, maxHedges: 2, runtime: clock })
		const answer = policy.execute(work)
		const end = answer.catch(() => clock.now())
		expect(await settled(clock, answer)).toEqual({ ok: false, error })
		expect(await end).toBe(110)
		expect(work.sentAt).toEqual([0, 50, 100])
		for (const index of [0, 2])
			expect(work.contexts[index]?.signal.reason).toMatchObject({ code: 'YAOKI_CANCELLED' })
		expect(explain(error)).toMatchObject({ stop: 'not-retried', attempts: [{ outcome: 'permanent' }] })
	})

	test('ends with a permanent error of the second although the first has failed before', async () => {
		const clock = virtualRuntime()
		const error = permanent(new Error('no such user'))
		const work = requests(clock, { ms: 60, error: first }, { ms: 60, error }, { ms: Infinity })
		const policy = hedge({ delayMs: 50, maxHedges: 2, runtime: clock })
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: false, error })
		expect(clock.now()).toBe(110)
	})

	test('is not retried after a permanent error of the second, and explained by it', async () => {
		const clock = virtualRuntime()
		const error = permanent(new Error('no such user'))
		const work = requests(clock, { ms: Infinity }, { ms: 10, error })
		const policy = pipeline({ runtime: clock }, retry(), hedge({ delayMs: 50 }), timeout(5_000))
		const answer = policy.execute(work)
		expect(await settled(clock, answer)).toEqual({ ok: false, error })
		expect(work.sentAt).toEqual([0, 50])
		expect(explain(error)).toMatchObject({
			stop: 'permanent',
			attempts: [{ outcome: 'permanent', errorMessage: 'no such user' }],
		})
	})

	test('does not end because another policy rejects the second', async () => {
		const clock = virtualRuntime()
		const work = requests(clock, { ms: 200, value: 'first' })
		const policy = pipeline(
			{ runtime: clock },
			hedge({ delayMs: 50 }),
			bulkhead({ maxConcurrent: 1, maxQueue: 0 }),
		)
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'first' })
	})

	test('ends if a hook throws for the second', async () => {
		const clock = virtualRuntime()
		const broken = new TypeError('broken hook')
		const work = requests(clock, { ms: Infinity }, { ms: 10, error: second })
		const shouldRetry = () => {
			throw broken
		}
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 50 }), retry({ shouldRetry }))
		const answer = policy.execute(work)
		expect(await settled(clock, answer)).toEqual({ ok: false, error: broken })
		expect(explain(broken)).toMatchObject({ stop: 'hook-threw' })
	})

	test('sends no further request after the first has failed', async () => {
		const clock = virtualRuntime()
		const work = requests(clock, { ms: 60, error: first }, { ms: 500, value: 'second' })
		const policy = hedge({ delayMs: 50, maxHedges: 3, runtime: clock })
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'second' })
		expect(work.sentAt).toEqual([0, 50])
	})

	test('continues with the third if only the second has failed', async () => {
		const clock = virtualRuntime()
		const work = requests(clock, { ms: 500 }, { ms: 10, error: second }, { ms: 10, value: 'third' })
		const policy = hedge({ delayMs: 50, maxHedges: 3, runtime: clock })
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'third' })
		expect(work.sentAt).toEqual([0, 50, 100])
	})
})

describe('a hedge and its limits', () => {
	test('is skipped if its budget is exhausted, and emits that', async () => {
		const clock = virtualRuntime()
		const budget = retryBudget({ maxRetryRatio: 0.5, minRetriesPerSecond: 0, runtime: clock })
		const policy = hedge({ delayMs: 50, budget, runtime: clock })
		const outcomes: string[] = []
		policy.subscribe((event) => event.type === 'hedge' && outcomes.push(event.outcome))
		for (let i = 0; i < 4; i++)
			await settled(clock, policy.execute(requests(clock, { ms: 100 }, { ms: 900 })))
		expect(outcomes).toEqual(['no-budget', 'sent', 'no-budget', 'sent'])
		expect(budget.stats).toMatchObject({ requests: 4, retries: 2 })
	})

	test('is not sent after the deadline', async () => {
		const clock = virtualRuntime()
		const work = requests(clock, { ms: 100, value: 'late' })
		const deadline = Deadline.after(50, { runtime: clock })
		await settled(clock, hedge({ delayMs: 50, runtime: clock }).execute(work, { deadline }))
		expect(work.sentAt).toEqual([0])
	})

	test('is not sent if the deadline leaves less time than calls usually take', async () => {
		const clock = virtualRuntime()
		const policy = hedge({ delayMs: 50, runtime: clock })
		for (let i = 0; i < 20; i++) await settled(clock, policy.execute(taking(clock, 40)))
		const sent = async (ms: number) => {
			const work = requests(clock, { ms: 60 }, { ms: 60 })
			await settled(clock, policy.execute(work, { deadline: Deadline.after(ms, { runtime: clock }) }))
			return work.sentAt.length
		}
		expect(await sent(80)).toBe(1)
		expect(await sent(100)).toBe(2)
	})
})

describe('a hedge and its caller', () => {
	test("aborts every request if the caller aborts, with the caller's reason", async () => {
		const clock = virtualRuntime()
		const controller = new AbortController()
		const reason = new Error('I changed my mind')
		const seen: unknown[] = []
		const policy = hedge({ delayMs: 50, runtime: clock })
		const answer = policy.execute(
			({ signal }) =>
				new Promise((_, reject) => {
					signal.addEventListener('abort', () => {
						seen.push(signal.reason)
						reject(signal.reason)
					})
				}),
			{ signal: controller.signal },
		)
		await clock.advance(60)
		controller.abort(reason)
		expect(await settled(clock, answer)).toEqual({ ok: false, error: reason })
		expect(seen).toEqual([reason, reason])
		expect(clock.now()).toBe(60)
	})

	test("sends nothing after the caller's abort, whatever the first request does", async () => {
		const clock = virtualRuntime()
		const controller = new AbortController()
		const work = requests(clock, { ms: 100, value: 'deaf' })
		const answer = hedge({ delayMs: 50, runtime: clock }).execute(work, { signal: controller.signal })
		await clock.advance(10)
		controller.abort()
		expect(await settled(clock, answer)).toEqual({ ok: true, value: 'deaf' })
		expect(work.sentAt).toEqual([0])
	})

	test('ends immediately if the caller aborts while only the second is waited for', async () => {
		const clock = virtualRuntime()
		const controller = new AbortController()
		const reason = new Error('I changed my mind')
		const work = requests(clock, { ms: 60, error: first }, { ms: 500, value: 'deaf' })
		const answer = hedge({ delayMs: 50, runtime: clock }).execute(work, { signal: controller.signal })
		const end = answer.catch(() => clock.now())
		await clock.advance(70)
		controller.abort(reason)
		expect(await settled(clock, answer)).toEqual({ ok: false, error: reason })
		expect(await end).toBe(70)
	})

	test('runs every request in the async context of its caller', async () => {
		const clock = virtualRuntime()
		const storage = new AsyncLocalStorage<string>()
		const policy = hedge({ delayMs: 50, maxHedges: 2, runtime: clock })
		const seen: unknown[] = []
		const call = (who: string) =>
			storage.run(who, () =>
				policy.execute(() => {
					seen.push(`${storage.getStore()} at ${clock.now()}`)
					return taking(clock, 500)()
				}),
			)
		const both = Promise.all([call('ann'), call('bob')])
		await clock.runUntilIdle()
		await both
		expect(seen).toEqual(['ann at 0', 'bob at 0', 'ann at 50', 'bob at 50', 'ann at 100', 'bob at 100'])
	})

	test.each([
		['the first wins before the hedge', [{ ms: 10 }]],
		['the first wins after the hedge', [{ ms: 60 }, { ms: 500 }]],
		['the hedge wins', [{ ms: 500 }, { ms: 20 }]],
		[
			'both fail',
			[
				{ ms: 60, error: first },
				{ ms: 20, error: second },
			],
		],
		[
			'a permanent error of the hedge ends it',
			[{ ms: 500 }, { ms: 10, error: permanent(new Error('gone')) }, { ms: 500 }],
		],
		['a permanent error ends it', [{ ms: 60, error: permanent(new Error('gone')) }, { ms: 90 }]],
	])('leaves no timer, no listener and no unhandled rejection when %s', async (_, script) => {
		const clock = virtualRuntime()
		const { signal } = new AbortController()
		const added = vi.spyOn(signal, 'addEventListener')
		const removed = vi.spyOn(signal, 'removeEventListener')
		const unhandled = vi.fn()
		process.on('unhandledRejection', unhandled)
		const deadline = Deadline.after(10_000, { runtime: clock })
		const policy = hedge({ delayMs: 50, maxHedges: 2, runtime: clock })
		await settled(clock, policy.execute(requests(clock, ...script), { signal, deadline }))
		await new Promise((resolve) => setImmediate(resolve))
		process.off('unhandledRejection', unhandled)
		expect(added).toHaveBeenCalled()
		expect(removed).toHaveBeenCalledTimes(added.mock.calls.length)
		expect(clock.pendingTimers).toBe(0)
		// Nor one that had to be waited for.
		expect(clock.now()).toBeLessThan(1_000)
		expect(unhandled).not.toHaveBeenCalled()
	})
})
