import { describe, expect, test } from 'vitest'
import { BulkheadRejectedError, bulkhead, classify, explain, type YaokiEvent } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { exceptCalls, settled, taking } from '../../support/scenario.ts'
import { byHand, never, watched } from './by-hand.ts'

describe('a bulkhead', () => {
	test('never exceeds its concurrency with many callers, and runs them all', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 7, maxQueue: Infinity, runtime: clock })
		let running = 0
		let most = 0
		const calls = Array.from({ length: 500 }, (_, i) =>
			policy.execute(async () => {
				most = Math.max(most, ++running)
				await taking(clock, 1 + ((i * 7) % 13))()
				running--
				return i
			}),
		)
		await clock.runUntilIdle()
		expect(await Promise.all(calls)).toEqual(calls.map((_, i) => i))
		expect(most).toBe(7)
		expect(policy.stats).toEqual({ concurrent: 0, queued: 0, maxConcurrent: 7, maxQueue: Infinity })
	})

	test('calls the operation before execute returns if a slot is free', () => {
		const clock = virtualRuntime()
		const { begun, work } = byHand(clock)
		void bulkhead({ runtime: clock }).execute(work('a'))
		expect(begun).toEqual(['a'])
	})

	test('has 10 slots and a queue of 50 by default', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ runtime: clock })
		const calls = Array.from({ length: 61 }, () => watched(clock, policy.execute(never)))
		await clock.advance(0)
		expect(policy.stats).toEqual({ concurrent: 10, queued: 50, maxConcurrent: 10, maxQueue: 50 })
		expect(calls.filter((call) => call.answer instanceof BulkheadRejectedError)).toEqual([calls[60]])
		await clock.advance(29_999)
		expect(policy.stats.queued).toBe(50)
		await clock.advance(1)
		expect(policy.stats).toMatchObject({ concurrent: 10, queued: 0 })
	})

	test('rejects immediately, with the reason, if slots and queue are full', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ name: 'db', maxConcurrent: 2, maxQueue: 1, runtime: clock })
		for (let i = 0; i < 3; i++) void policy.execute(never).catch(() => {})
		const { begun, work } = byHand(clock)
		const rejected = watched(clock, policy.execute(work('too many')))
		await clock.advance(0)
		expect(rejected).toMatchObject({
			at: 0,
			answer: {
				name: 'BulkheadRejectedError',
				code: 'YAOKI_BULKHEAD_REJECTED',
				message: 'db: bulkhead full (maxConcurrent 2, maxQueue 1)',
			},
		})
		expect(classify(rejected.answer).kind).toBe('cancelled')
		expect(explain(rejected.answer)).toMatchObject({ stop: 'rejected', attempts: [] })
		expect(begun).toEqual([])
		expect(policy.stats).toMatchObject({ concurrent: 2, queued: 1 })
	})

	test('a bulkhead without a queue rejects calls that find no slot', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, maxQueue: 0, runtime: clock })
		const { work, end } = byHand(clock)
		const first = policy.execute(work('first'))
		await expect(policy.execute(work('second'))).rejects.toBeInstanceOf(BulkheadRejectedError)
		await end('first')
		expect(await first).toBe('first')
		void policy.execute(work('third'))
		expect(policy.stats.concurrent).toBe(1)
	})

	test('rejects a call after exactly queueTimeoutMs, and runs nothing for it', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ name: 'db', maxConcurrent: 1, queueTimeoutMs: 200, runtime: clock })
		const { begun, work } = byHand(clock)
		void policy.execute(work('hung'))
		const first = watched(clock, policy.execute(work('first')))
		await clock.advance(50)
		const second = watched(clock, policy.execute(work('second')))
		await clock.advance(149)
		expect([first, second]).toEqual([{}, {}])
		await clock.runUntilIdle()
		expect(first).toMatchObject({
			at: 200,
			answer: {
				name: 'BulkheadRejectedError',
				code: 'YAOKI_BULKHEAD_REJECTED',
				message: 'db: no free slot within queueTimeoutMs (200 ms)',
			},
		})
		expect(second.at).toBe(250)
		expect(begun).toEqual(['hung'])
		expect(policy.stats).toMatchObject({ concurrent: 1, queued: 0 })
		expect(clock.pendingTimers).toBe(0)
	})

	test('a bulkhead with a queue timeout of 0 rejects in the same moment', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, queueTimeoutMs: 0, runtime: clock })
		void policy.execute(never)
		const second = watched(clock, policy.execute(never))
		await clock.runUntilIdle()
		expect(second).toMatchObject({ at: 0, answer: { name: 'BulkheadRejectedError' } })
	})

	test('a bulkhead without a queue timeout lets calls wait for any time, and sets no timer', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, queueTimeoutMs: Infinity, runtime: clock })
		const { work, end, begun } = byHand(clock)
		void policy.execute(work('first'))
		void policy.execute(work('second'))
		expect(clock.pendingTimers).toBe(0)
		await clock.advance(1e12)
		await end('first')
		expect(begun).toEqual(['first', 'second'])
	})

	test('serves calls in order of arrival', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 2, runtime: clock })
		const { begun, work, end } = byHand(clock)
		for (const name of ['a', 'b', 'c', 'd', 'e']) void policy.execute(work(name))
		expect(begun).toEqual(['a', 'b'])
		await end('b')
		await end('a')
		await end('c')
		expect(begun).toEqual(['a', 'b', 'c', 'd', 'e'])
	})

	test('serves higher priorities first, and equal ones in order of arrival', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({
			maxConcurrent: 1,
			priority: ({ key }) => (key === 'paid' ? 1 : key === 'crawler' ? -1 : 0),
			runtime: clock,
		})
		const { begun, work, end } = byHand(clock)
		void policy.execute(work('first'), { key: 'crawler' })
		for (const name of ['crawler 1', 'usual 1', 'paid 1', 'usual 2', 'paid 2', 'crawler 2'])
			void policy.execute(work(name), { key: name.split(' ')[0] })
		for (let next = 0; next < 7; next++) await end(begun[next] ?? '')
		expect(begun).toEqual(['first', 'paid 1', 'paid 2', 'usual 1', 'usual 2', 'crawler 1', 'crawler 2'])
	})

	test('calls priority only for calls that must queue, also without call options', async () => {
		const clock = virtualRuntime()
		const asked: unknown[] = []
		const priority = (call: unknown) => asked.push(call)
		const policy = bulkhead({ maxConcurrent: 1, priority, runtime: clock })
		void policy.execute(never)
		expect(asked).toEqual([])
		void policy.execute(never).catch(() => {})
		expect(asked).toEqual([{}])
	})

	test.each([
		['throws', () => JSON.parse('no priority'), /no priority|JSON/],
		['gives NaN', () => Number.NaN, 'Invalid option "priority(call)": expected a finite number, got NaN'],
		[
			'gives Infinity',
			() => Infinity,
			'Invalid option "priority(call)": expected a finite number, got Infinity',
		],
		['gives a string', () => 'high', 'Invalid option "priority(call)": expected a finite number, got "high"'],
		['gives a promise', () => Promise.resolve(1), 'priority must be synchronous, but it returned a promise'],
	])('a priority that %s ends the call and leaves the queue empty', async (_, priority, message) => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, priority: priority as () => number, runtime: clock })
		const { work, end, begun } = byHand(clock)
		void policy.execute(work('first'))
		await expect(policy.execute(work('second'))).rejects.toThrow(message)
		expect(policy.stats).toMatchObject({ concurrent: 1, queued: 0 })
		await end('first')
		expect(begun).toEqual(['first'])
		expect(policy.stats.concurrent).toBe(0)
		expect(clock.pendingTimers).toBe(0)
	})

	test.each<[string, () => unknown]>([
		[
			'throws',
			() => {
				throw new Error('x')
			},
		],
		['rejects', () => Promise.reject(new Error('x'))],
		['throws what is no error', () => Promise.reject(undefined)],
		['returns immediately', () => 1],
		['answers undefined', () => undefined],
		// biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about.
		['is a thenable', () => ({ then: (resolve: (value: number) => void) => resolve(1) })],
		[
			'is a thenable that fails',
			// biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about.
			() => ({ then: (_: unknown, reject: (error: Error) => void) => reject(new Error('x')) }),
		],
	])('gets its slot back from an operation that %s', async (_, work) => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, runtime: clock })
		const calls = [policy.settle(work), policy.settle(work), policy.settle(work)]
		await clock.advance(0)
		const results = await Promise.all(calls)
		expect(new Set(results.map((result) => result.ok)).size).toBe(1)
		expect(results.map((result) => (result.ok ? undefined : result.error))).not.toContainEqual(
			expect.any(BulkheadRejectedError),
		)
		expect(policy.stats).toMatchObject({ concurrent: 0, queued: 0 })
	})

	test('emits its rejections with their reason, and nothing else', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({
			name: 'db',
			maxConcurrent: 1,
			maxQueue: 1,
			queueTimeoutMs: 10,
			runtime: clock,
		})
		const events: YaokiEvent[] = []
		policy.subscribe(exceptCalls((event) => events.push(event)))
		void policy.execute(never, { name: 'hung' })
		const queued = policy.settle(never, { name: 'patient', key: 'k' })
		const full = policy.settle(never, { name: 'late' })
		await clock.runUntilIdle()
		await Promise.all([queued, full])
		const shared = { type: 'rejected', emitter: 'db', attempt: 1, timestamp: expect.any(Number) }
		expect(events).toEqual([
			{ ...shared, reason: 'bulkhead-full', call: 'late', callId: 'call-1' },
			{ ...shared, reason: 'queue-timeout', call: 'patient', key: 'k', callId: 'call-2' },
		])
	})

	test('reports in explain how long a failed call was queued, and includes it in the duration', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, runtime: clock })
		void policy.execute(taking(clock, 30))
		const result = await settled(clock, policy.execute(taking(clock, 5, new Error('x'))))
		expect(explain(result.ok ? undefined : result.error)).toMatchObject({
			durationMs: 35,
			attempts: [{ startMs: 30, durationMs: 5, queuedMs: 30, errorMessage: 'x' }],
		})
	})
})

describe('changed limits', () => {
	test('up: wake as many calls as there are free slots, in order', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, runtime: clock })
		const { begun, work } = byHand(clock)
		for (const name of ['a', 'b', 'c', 'd']) void policy.execute(work(name)).catch(() => {})
		policy.update({ maxConcurrent: 3 })
		expect(policy.stats).toMatchObject({ concurrent: 3, queued: 1, maxConcurrent: 3 })
		await clock.advance(0)
		expect(begun).toEqual(['a', 'b', 'c'])
	})

	test('down: drop no call, and admit none until there is a free slot', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 3, maxQueue: 5, runtime: clock })
		const { begun, work, end } = byHand(clock)
		const calls = ['a', 'b', 'c', 'd', 'e'].map((name) => policy.execute(work(name)))
		policy.update({ maxConcurrent: 1, maxQueue: 0 })
		expect(policy.stats).toEqual({ concurrent: 3, queued: 2, maxConcurrent: 1, maxQueue: 0 })
		await expect(policy.execute(work('newcomer'))).rejects.toThrow(
			'bulkhead full (maxConcurrent 1, maxQueue 0)',
		)
		await end('a')
		await end('b')
		expect(begun).toEqual(['a', 'b', 'c'])
		await end('c')
		await end('d')
		await end('e')
		expect(await Promise.all(calls)).toEqual(['a', 'b', 'c', 'd', 'e'])
	})

	test('keep what they do not name', async () => {
		const policy = bulkhead({ maxConcurrent: 3, maxQueue: 5 })
		policy.update({ maxQueue: 7, maxConcurrent: undefined })
		expect(policy.stats).toMatchObject({ maxConcurrent: 3, maxQueue: 7 })
	})

	test('changed limits that are invalid are rejected, and the old ones stay', () => {
		const policy = bulkhead({ maxConcurrent: 3 })
		expect(() => policy.update({ maxConcurrent: 0 })).toThrow(
			/Invalid option "maxConcurrent": expected .*, got 0/,
		)
		expect(policy.stats.maxConcurrent).toBe(3)
	})

	test('a queued call keeps the queue timeout under which it arrived', async () => {
		const clock = virtualRuntime()
		const policy = bulkhead({ maxConcurrent: 1, queueTimeoutMs: 100, runtime: clock })
		void policy.execute(never)
		const before = watched(clock, policy.execute(never))
		policy.update({ queueTimeoutMs: 30 })
		const after = watched(clock, policy.execute(never))
		await clock.runUntilIdle()
		expect(before).toMatchObject({
			at: 100,
			answer: { message: 'bulkhead: no free slot within queueTimeoutMs (100 ms)' },
		})
		expect(after).toMatchObject({
			at: 30,
			answer: { message: 'bulkhead: no free slot within queueTimeoutMs (30 ms)' },
		})
	})
})
