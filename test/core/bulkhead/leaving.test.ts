/** Who leaves before its work began: by abort, by deadline, by queue timeout, at any moment. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test, vi } from 'vitest'
import { bulkhead, Deadline, explain, pipeline, retry, timeout, type YaokiEvent } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { exceptCalls, settled, steady, taking } from '../../support/scenario.ts'
import { byHand, never, watched } from './by-hand.ts'

describe('an abort', () => {
	test('an abort in the queue ends the call immediately with the reason, runs nothing and leaves the queue', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, runtime: clock })
		const { begun, work, end } = byHand(clock)
		const controller = new AbortController()
		void policy.execute(work('a'))
		const aborted = watched(clock, policy.execute(work('b'), { signal: controller.signal }))
		void policy.execute(work('c'))
		await clock.advance(5)
		const reason = { why: 'I changed my mind' }
		controller.abort(reason)
		await clock.advance(0)
		expect(aborted).toEqual({ at: 5, answer: reason })
		expect(aborted.answer).toBe(reason)
		expect(policy.stats).toMatchObject({ concurrent: 1, queued: 1 })
		expect(explain(reason)).toMatchObject({ stop: 'abort', attempts: [] })
		// The timer is for who still waits.
		expect(clock.pendingTimers).toBe(1)
		await end('a')
		expect(begun).toEqual(['a', 'c'])
		await end('c')
		expect(policy.stats).toMatchObject({ concurrent: 0, queued: 0 })
		expect(clock.pendingTimers).toBe(0)
	})

	test('an abort of the last queued call leaves no timer and no listener', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, runtime: clock })
		const controller = new AbortController()
		const removed = vi.spyOn(controller.signal, 'removeEventListener')
		void policy.execute(never)
		void policy.settle(never, { signal: controller.signal })
		expect(clock.pendingTimers).toBe(1)
		controller.abort()
		await clock.advance(0)
		expect(clock.pendingTimers).toBe(0)
		expect(removed).toHaveBeenCalled()
	})

	test('an abort before the call takes neither a slot nor a queue position', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, runtime: clock })
		const { begun, work } = byHand(clock)
		const signal = AbortSignal.abort('gone')
		await expect(policy.execute(work('a'), { signal })).rejects.toBe('gone')
		void policy.execute(never)
		await expect(policy.execute(work('b'), { signal })).rejects.toBe('gone')
		expect(begun).toEqual([])
		expect(policy.stats).toMatchObject({ concurrent: 1, queued: 0 })
	})

	test('an abort at the moment of the handover runs nothing, and hands the slot on', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, runtime: clock })
		const { begun, work } = byHand(clock)
		const controller = new AbortController()
		const first = policy.execute(async () => 'a')
		// Looks in at every promise job: there is one in which b holds the slot and has not run.
		const look = (jobs: number) => {
			if (policy.stats.queued === 1 && !begun.length) controller.abort('too late')
			else if (jobs) queueMicrotask(() => look(jobs - 1))
		}
		const second = watched(clock, policy.execute(work('b'), { signal: controller.signal }))
		void policy.execute(work('c'))
		look(20)
		await clock.advance(0)
		expect(await first).toBe('a')
		expect(controller.signal.aborted).toBe(true)
		expect(second).toEqual({ at: 0, answer: 'too late' })
		expect(begun).toEqual(['c'])
		expect(policy.stats).toMatchObject({ concurrent: 1, queued: 0 })
	})

	test('an abort after a resize handed the slot over frees it', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, runtime: clock })
		const { begun, work } = byHand(clock)
		const controller = new AbortController()
		void policy.execute(never)
		const second = watched(clock, policy.execute(work('b'), { signal: controller.signal }))
		policy.update({ maxConcurrent: 2 })
		expect(policy.stats).toMatchObject({ concurrent: 2, queued: 0 })
		controller.abort('no more')
		await clock.advance(0)
		expect(second.answer).toBe('no more')
		expect(begun).toEqual([])
		expect(policy.stats).toMatchObject({ concurrent: 1, queued: 0 })
	})

	test('an abort from the priority hook takes effect', async () => {
		const clock = virtualRuntime()
		const controller = new AbortController()
		const priority = () => {
			controller.abort('from the hook')
			return 0
		}
		const policy = bulkhead({ maxConcurrent: 1, priority, runtime: clock })
		void policy.execute(never)
		const second = watched(clock, policy.execute(never, { signal: controller.signal }))
		await clock.advance(0)
		expect(second.answer).toBe('from the hook')
		expect(policy.stats.queued).toBe(0)
	})
})

describe('a newcomer', () => {
	test('overtakes no call, not even between the handover of a slot and its first use', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, runtime: clock })
		const { begun, work } = byHand(clock)
		const first = policy.execute(async () => 'a')
		void policy.execute(work('b'))
		// Newcomers in every promise job from the answer of the first on, until the second runs and after.
		let jobs = 0
		const come = () => {
			void policy.execute(work(`newcomer ${jobs}`)).catch(() => {})
			if (++jobs < 10) queueMicrotask(come)
		}
		queueMicrotask(come)
		await first
		await clock.advance(0)
		expect(begun).toEqual(['b'])
		expect(policy.stats).toMatchObject({ concurrent: 1, queued: 10 })
	})

	test('drops no call from a full queue, whatever its priority', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({
			maxConcurrent: 1,
			maxQueue: 1,
			priority: ({ key }) => Number(key),
			runtime: clock,
		})
		const { begun, work, end } = byHand(clock)
		void policy.execute(work('a'), { key: '0' })
		void policy.execute(work('b'), { key: '0' })
		await expect(policy.execute(work('urgent'), { key: '9' })).rejects.toThrow('bulkhead full')
		await end('a')
		expect(begun).toEqual(['a', 'b'])
	})
})

describe('a deadline', () => {
	test('a deadline in the queue ends the call when it expires, runs nothing and leaves the queue', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, runtime: clock })
		const { begun, work, end } = byHand(clock)
		void policy.execute(work('a'))
		const deadline = Deadline.after(70, { runtime: clock })
		const second = watched(clock, policy.execute(work('b'), { deadline }))
		await clock.advance(69)
		expect(second).toEqual({})
		await clock.runUntilIdle()
		expect(second).toMatchObject({ at: 70, answer: { name: 'DeadlineExceededError' } })
		expect(explain(second.answer)).toMatchObject({ stop: 'deadline' })
		expect(policy.stats).toMatchObject({ concurrent: 1, queued: 0 })
		await end('a')
		expect(begun).toEqual(['a'])
		expect(clock.pendingTimers).toBe(0)
	})

	test('a deadline that expires as the slot becomes free runs nothing, and the slot goes to the next', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, runtime: clock })
		const { begun, work } = byHand(clock)
		void policy.execute(taking(clock, 70))
		const deadline = Deadline.after(70, { runtime: clock })
		const second = watched(clock, policy.execute(work('b'), { deadline }))
		void policy.execute(work('c'))
		await clock.runUntilIdle()
		expect(second).toMatchObject({ at: 70, answer: { name: 'DeadlineExceededError' } })
		expect(begun).toEqual(['c'])
		expect(policy.stats).toMatchObject({ concurrent: 1, queued: 0 })
	})

	test('shorter than the queue rejects immediately, because the turn would come too late', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ name: 'db', maxConcurrent: 2, runtime: clock })
		const events: YaokiEvent[] = []
		policy.subscribe(exceptCalls((event) => events.push(event)))
		const within = (ms: number) => ({ deadline: Deadline.after(ms, { runtime: clock }) })
		// So long that what is expected has settled at what is measured.
		for (let i = 0; i < 40; i++) await settled(clock, policy.execute(taking(clock, 100), within(500)))
		for (let i = 0; i < 5; i++) void policy.execute(taking(clock, 100))
		const { begun, work } = byHand(clock)
		// Three are queued and two run concurrently: the fourth is expected to wait for 200 ms.
		const rejected = watched(clock, policy.execute(work('rejected'), within(199)))
		const accepted = watched(clock, policy.execute(work('accepted'), within(201)))
		const now = clock.now()
		await clock.advance(0)
		expect(rejected).toMatchObject({
			at: now,
			answer: {
				name: 'DeadlineExceededError',
				code: 'YAOKI_DEADLINE_EXCEEDED',
				message: 'db: queueing takes about 200 ms, longer than the deadline allows',
			},
		})
		expect(events).toMatchObject([{ type: 'rejected', reason: 'deadline', emitter: 'db' }])
		expect([accepted, policy.stats.queued]).toEqual([{}, 4])
		await clock.runUntilIdle()
		expect(begun).toEqual(['accepted'])
	})

	test('is not the reason if the bulkhead is full', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, maxQueue: 0, runtime: clock })
		const within = (ms: number) => ({ deadline: Deadline.after(ms, { runtime: clock }) })
		await settled(clock, policy.execute(taking(clock, 1_000), within(5_000)))
		void policy.execute(never)
		await expect(policy.execute(never, within(1))).rejects.toMatchObject({ name: 'BulkheadRejectedError' })
	})

	test('is compared with the time of operations, not of callers that left the queue', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, runtime: clock })
		const { work, end } = byHand(clock)
		const controller = new AbortController()
		void policy.execute(work('a'))
		void policy.execute(never, { signal: controller.signal }).catch(() => {})
		await clock.advance(10_000)
		// Handed a slot by this and aborted before it ran: its 10 s in the queue were no work.
		policy.update({ maxConcurrent: 2 })
		controller.abort()
		await clock.advance(0)
		await end('a')
		for (let i = 0; i < 2; i++) void policy.execute(never)
		const deadline = Deadline.after(100, { runtime: clock })
		const next = watched(clock, policy.execute(never, { deadline }))
		await clock.advance(0)
		expect([next, policy.stats.queued]).toEqual([{}, 1])
	})
})

test("the async context after the queue is the caller's, in the operation and after the result", async () => {
	const clock = virtualRuntime()
	const storage = new AsyncLocalStorage<string>()
	const policy = bulkhead({ maxConcurrent: 2, queueTimeoutMs: 35, runtime: clock })
	const callers = Array.from({ length: 12 }, (_, i) => `caller ${i}`)
	const seen = callers.map((caller) =>
		storage.run(caller, async () => {
			const inside: unknown[] = []
			await policy.settle(() => {
				inside.push(storage.getStore())
				return taking(clock, 10)()
			})
			return [...inside, storage.getStore()]
		}),
	)
	await clock.runUntilIdle()
	// Eight are served in 40 ms; the others lose patience at 35.
	expect(await Promise.all(seen)).toEqual(callers.map((caller, i) => (i < 8 ? [caller, caller] : [caller])))
})

test('nothing remains of a thousand aborted, timed-out and rejected calls', async () => {
	const clock = virtualRuntime()
	const policy = pipeline(
		{ runtime: clock },
		timeout(1_000),
		bulkhead({ maxConcurrent: 3, maxQueue: 400, queueTimeoutMs: 300, abandonAfterMs: 50 }),
		retry({ ...steady, maxRetries: 1 }),
		timeout(20),
	)
	const shared = new AbortController()
	const added = vi.spyOn(shared.signal, 'addEventListener')
	const removed = vi.spyOn(shared.signal, 'removeEventListener')
	const { signal } = shared
	const answers = new Map<string, number>()
	const count = (name: string) => answers.set(name, (answers.get(name) ?? 0) + 1)
	for (let i = 0; i < 1_000; i++) {
		const own = new AbortController()
		const options = [
			{ signal },
			{ signal: own.signal },
			{ signal, deadline: Deadline.after(1 + (i % 100), { runtime: clock }) },
		][i % 3]
		const work = i % 7 ? never : taking(clock, 5, new Error('x'))
		policy.execute(work, options).catch((error: Error) => count(error.name))
		if (i % 5 === 0) clock.setTimer(i % 50, () => own.abort(new DOMException('gone', 'AbortError')))
		if (i % 10 === 9) await clock.advance(1)
	}
	await clock.runUntilIdle()
	expect([...answers.values()].reduce((a, b) => a + b)).toBe(1_000)
	// Each way out was taken.
	for (const name of ['AbortError', 'BulkheadRejectedError', 'DeadlineExceededError', 'TimeoutError'])
		expect(answers.get(name)).toBeGreaterThan(5)
	expect(added.mock.calls.length).toBeGreaterThan(100)
	expect(removed).toHaveBeenCalledTimes(added.mock.calls.length)
	expect(clock.pendingTimers).toBe(0)
})
