/** Bulkheads outside and inside of other policies: whose slot it is, and for how long. */
import { describe, expect, test } from 'vitest'
import {
	bulkhead,
	type CallContext,
	circuitBreaker,
	explain,
	fallback,
	hedge,
	keyed,
	pipeline,
	retry,
	timeout,
} from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { settled, steady, taking } from '../../support/scenario.ts'
import { byHand, never, obedient, watched } from './by-hand.ts'

describe('a timed-out call', () => {
	test('keeps its slot until its operation settles', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, runtime: clock })
		const policy = pipeline({ runtime: clock }, slots, timeout(50))
		const { begun, work, end } = byHand(clock)
		const hung = watched(clock, policy.execute(work('hung')))
		await clock.advance(10)
		const next = watched(clock, policy.execute(work('next')))
		await clock.advance(90)
		expect(hung).toMatchObject({ at: 50, answer: { name: 'TimeoutError' } })
		expect(slots.stats).toMatchObject({ concurrent: 1, queued: 1 })
		expect(begun).toEqual(['hung'])
		await end('hung')
		expect(begun).toEqual(['hung', 'next'])
		await end('next')
		expect(next).toEqual({ at: 100, answer: 'next' })
		expect(slots.stats).toMatchObject({ concurrent: 0, queued: 0 })
	})

	test('frees its slot in the same moment if its operation obeys', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, runtime: clock })
		const policy = pipeline({ runtime: clock }, slots, timeout(50))
		const calls = [1, 2, 3].map(() => watched(clock, policy.execute(obedient)))
		await clock.runUntilIdle()
		expect(calls.map(({ at }) => at)).toEqual([50, 100, 150])
		expect(slots.stats.concurrent).toBe(0)
	})

	test('a timed-out call whose operation never settles loses its slot after abandonAfterMs, and leaves no timer', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, abandonAfterMs: 30, runtime: clock })
		const policy = pipeline({ runtime: clock }, slots, timeout(50))
		const { begun, work } = byHand(clock)
		void policy.settle(work('hung'))
		void policy.settle(work('next'))
		await clock.advance(79)
		expect(begun).toEqual(['hung'])
		await clock.advance(1)
		expect(begun).toEqual(['hung', 'next'])
		await clock.runUntilIdle()
		expect(slots.stats).toMatchObject({ concurrent: 0, queued: 0 })
		expect(clock.pendingTimers).toBe(0)
	})

	test.each(['settles', 'fails'])('that was abandoned and then %s frees no other slot', async (how) => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 2, abandonAfterMs: 30, runtime: clock })
		const policy = pipeline({ runtime: clock }, slots, timeout(50))
		const { work, end } = byHand(clock)
		void policy.settle(work('hung'))
		await clock.advance(90)
		expect(slots.stats.concurrent).toBe(0)
		void policy.settle(work('b'))
		void policy.settle(work('c'))
		void policy.settle(work('d'))
		await end('hung', how === 'fails' ? new Error('late') : undefined)
		expect(slots.stats).toMatchObject({ concurrent: 2, queued: 1 })
	})

	test('a timed-out call whose operation settles before abandonAfterMs leaves no timer', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, abandonAfterMs: 1_000, runtime: clock })
		const policy = pipeline({ runtime: clock }, slots, timeout(50))
		void policy.settle(taking(clock, 60))
		await clock.advance(60)
		expect(slots.stats.concurrent).toBe(0)
		expect(clock.pendingTimers).toBe(0)
	})

	test('uses the abandonAfterMs that is set when it settles', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, runtime: clock })
		const policy = pipeline({ runtime: clock }, slots, timeout(50))
		void policy.settle(never)
		slots.update({ abandonAfterMs: 5 })
		await clock.advance(54)
		expect(slots.stats.concurrent).toBe(1)
		await clock.advance(1)
		expect(slots.stats.concurrent).toBe(0)
	})
})

describe('bulkhead > retry > timeout', () => {
	test('one slot serves all attempts, waits included', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, runtime: clock })
		const policy = pipeline({ runtime: clock }, slots, retry({ ...steady, maxRetries: 1 }), timeout(50))
		const first = watched(clock, policy.execute(obedient))
		const second = watched(clock, policy.execute(taking(clock, 10)))
		await clock.advance(100)
		expect(slots.stats).toMatchObject({ concurrent: 1, queued: 1 })
		await clock.runUntilIdle()
		expect(first).toMatchObject({ at: 200, answer: { name: 'TimeoutError' } })
		expect(second).toEqual({ at: 210, answer: 'ok' })
	})

	test('it is kept until every attempt has settled, also after a success', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, runtime: clock })
		const policy = pipeline({ runtime: clock }, slots, retry({ ...steady, maxRetries: 2 }), timeout(50))
		const { work, end } = byHand(clock)
		const call = watched(
			clock,
			policy.execute(({ attempt }) => (attempt < 2 ? work(`attempt ${attempt}`)() : 'ok')),
		)
		await clock.runUntilIdle()
		expect(call).toEqual({ at: 400, answer: 'ok' })
		expect(slots.stats.concurrent).toBe(1)
		await end('attempt 1')
		expect(slots.stats.concurrent).toBe(1)
		await end('attempt 0')
		expect(slots.stats.concurrent).toBe(0)
	})
})

describe('retry > bulkhead > timeout', () => {
	test('each attempt has its own slot, and a hung one keeps only its own', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 2, runtime: clock })
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 1 }), slots, timeout(50))
		const { work, end } = byHand(clock)
		const call = watched(
			clock,
			policy.execute(({ attempt }) => work(`attempt ${attempt}`)()),
		)
		await clock.advance(100)
		expect(slots.stats.concurrent).toBe(1)
		await clock.advance(60)
		expect(slots.stats.concurrent).toBe(2)
		await end('attempt 1')
		expect(call).toEqual({ at: 160, answer: 'attempt 1' })
		expect(slots.stats.concurrent).toBe(1)
		await end('attempt 0')
		expect(slots.stats.concurrent).toBe(0)
	})

	test('the slot is free during the wait, and the next attempt queues like other calls', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, runtime: clock })
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 1 }), slots, timeout(50))
		const { begun, work, end } = byHand(clock)
		const first = watched(
			clock,
			policy.execute(({ attempt }) => {
				if (attempt === 0) throw new Error('x')
				return work('again')()
			}),
		)
		await clock.advance(90)
		void policy.settle(work('other'))
		await clock.advance(20)
		expect(begun).toEqual(['other'])
		expect(slots.stats.queued).toBe(1)
		await end('other')
		await end('again')
		expect(first).toEqual({ at: 110, answer: 'again' })
	})

	test('a rejection is not retried', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, maxQueue: 0, runtime: clock })
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 3 }), slots)
		void policy.settle(never)
		const rejected = watched(clock, policy.execute(never))
		await clock.runUntilIdle()
		expect(rejected).toMatchObject({ at: 0, answer: { name: 'BulkheadRejectedError' } })
		expect(explain(rejected.answer)).toMatchObject({ stop: 'cancelled' })
	})

	test('the timeout of an attempt begins when it has its slot', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, bulkhead({ maxConcurrent: 1 }), timeout(50))
		const calls = [40, 40, 40].map((ms) => watched(clock, policy.execute(taking(clock, ms))))
		await clock.runUntilIdle()
		expect(calls).toEqual([40, 80, 120].map((at) => ({ at, answer: 'ok' })))
	})
})

describe('timeout > bulkhead', () => {
	test('a timeout in the queue ends the call then, runs nothing and leaves the queue', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, runtime: clock })
		const policy = pipeline({ runtime: clock }, timeout(50), slots)
		const { begun, work, end } = byHand(clock)
		void slots.execute(work('a'))
		const queued = watched(clock, policy.execute(work('b')))
		void slots.execute(work('c'))
		await clock.advance(50)
		expect(queued).toMatchObject({ at: 50, answer: { name: 'TimeoutError' } })
		expect(slots.stats).toMatchObject({ concurrent: 1, queued: 1 })
		await end('a')
		expect(begun).toEqual(['a', 'c'])
		await end('c')
		expect(slots.stats).toMatchObject({ concurrent: 0, queued: 0 })
		await clock.advance(30_000)
		expect(clock.pendingTimers).toBe(0)
	})

	test("calls that time out together with the slot's holder hand the slot on unused", async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, runtime: clock })
		const policy = pipeline({ runtime: clock }, timeout(50), slots)
		let began = 0
		const work = (context: CallContext) => {
			began++
			return obedient(context)
		}
		const calls = Array.from({ length: 5 }, () => watched(clock, policy.execute(work)))
		await clock.runUntilIdle()
		expect(calls.map(({ at }) => at)).toEqual([50, 50, 50, 50, 50])
		expect(began).toBe(1)
		expect(slots.stats).toMatchObject({ concurrent: 0, queued: 0 })
	})

	test('an operation that ignores the timeout keeps its slot until it settles', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, runtime: clock })
		const policy = pipeline({ runtime: clock }, timeout(50), slots)
		await settled(
			clock,
			policy.execute(() => new Promise((r) => void clock.setTimer(50.5, () => r(1)))),
		)
		expect(slots.stats.concurrent).toBe(0)
		const { work, end } = byHand(clock)
		await settled(clock, policy.execute(work('hung')))
		expect(slots.stats.concurrent).toBe(1)
		await end('hung')
		expect(slots.stats.concurrent).toBe(0)
	})
})

describe('hedges', () => {
	test('inside a bulkhead share the slot of their call, which is kept until the losers settle', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, runtime: clock })
		const policy = pipeline({ runtime: clock }, slots, hedge({ delayMs: 20, maxHedges: 2 }))
		const { work, end } = byHand(clock)
		let sent = 0
		const call = watched(
			clock,
			policy.execute(() => work(`request ${sent++}`)()),
		)
		await clock.advance(50)
		expect([sent, slots.stats.concurrent]).toEqual([3, 1])
		await end('request 1')
		expect(call).toEqual({ at: 50, answer: 'request 1' })
		expect(slots.stats.concurrent).toBe(1)
		await end('request 2')
		expect(slots.stats.concurrent).toBe(1)
		await end('request 0')
		expect(slots.stats.concurrent).toBe(0)
	})

	test('around a bulkhead take a slot each, and a queued loser leaves the queue', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, runtime: clock })
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 20 }), slots)
		const { begun, work, end } = byHand(clock)
		const call = watched(clock, policy.execute(work('first')))
		await clock.advance(30)
		expect(slots.stats).toMatchObject({ concurrent: 1, queued: 1 })
		await end('first')
		expect(call).toEqual({ at: 30, answer: 'first' })
		expect(begun).toEqual(['first'])
		expect(slots.stats).toMatchObject({ concurrent: 0, queued: 0 })
	})
})

test('a rejection does not trip an outer breaker, and a fallback may replace it', async () => {
	const clock = virtualRuntime()
	const breaker = circuitBreaker({ failureThreshold: 1, runtime: clock })
	const slots = bulkhead({ maxConcurrent: 1, maxQueue: 0, runtime: clock })
	const policy = pipeline({ runtime: clock }, fallback('instead'), breaker, slots)
	void policy.execute(never)
	expect(await policy.execute(never)).toBe('instead')
	expect(breaker.currentState).toBe('closed')
	expect(slots.stats.concurrent).toBe(1)
})

test('a bulkhead in two pipelines has one set of slots', async () => {
	const clock = virtualRuntime()
	const slots = bulkhead({ maxConcurrent: 1, runtime: clock })
	const one = pipeline({ runtime: clock }, slots, timeout(500))
	const other = pipeline({ runtime: clock }, retry(steady), slots)
	const { begun, work, end } = byHand(clock)
	void one.execute(work('a'))
	void other.execute(work('b'))
	expect(begun).toEqual(['a'])
	await end('a')
	expect(begun).toEqual(['a', 'b'])
})

test('two bulkheads are queued for in turn, and each slot is freed', async () => {
	const clock = virtualRuntime()
	const outer = bulkhead({ maxConcurrent: 2, runtime: clock })
	const inner = bulkhead({ maxConcurrent: 1, runtime: clock })
	const policy = pipeline({ runtime: clock }, outer, inner)
	const calls = Array.from({ length: 4 }, () => watched(clock, policy.execute(taking(clock, 10))))
	expect([outer.stats, inner.stats]).toMatchObject([
		{ concurrent: 2, queued: 2 },
		{ concurrent: 1, queued: 1 },
	])
	await clock.runUntilIdle()
	expect(calls.map(({ at }) => at)).toEqual([10, 20, 30, 40])
	expect([outer.stats.concurrent, inner.stats.concurrent]).toEqual([0, 0])
})

test('a keyed bulkhead has slots and a queue per key', async () => {
	const clock = virtualRuntime()
	const perHost = keyed(
		({ key }) => key ?? '',
		() => bulkhead({ maxConcurrent: 1, maxQueue: 1 }),
	)
	const policy = pipeline({ runtime: clock }, perHost, timeout(500))
	const { begun, work, end } = byHand(clock)
	for (const name of ['a1', 'a2', 'b1']) void policy.execute(work(name), { key: name[0] })
	await expect(policy.execute(work('a3'), { key: 'a' })).rejects.toThrow('bulkhead full')
	expect(begun).toEqual(['a1', 'b1'])
	await end('a1')
	expect(begun).toEqual(['a1', 'b1', 'a2'])
	expect(perHost.get('a')?.stats).toMatchObject({ concurrent: 1, queued: 0 })
})
