import { describe, expect, test } from 'vitest'
import {
	type AdaptiveBulkhead,
	type AdaptiveBulkheadOptions,
	adaptiveBulkhead,
	circuitBreaker,
	HttpError,
	hedge,
	permanent,
	pipeline,
	retry,
	timeout,
	type YaokiEvent,
} from 'yaoki'
import { seededRandom, type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { steady, taking } from '../../support/scenario.ts'
import { byHand, never, obedient, watched } from './by-hand.ts'

/** A server of so many workers and a queue without end, in virtual time. */
function server(clock: VirtualRuntime, workers: number, serviceMs: () => number) {
	const waiting: (() => void)[] = []
	let busy = 0
	const next = () => {
		const begin = busy < workers ? waiting.shift() : undefined
		if (!begin) return
		busy++
		begin()
	}
	return (done: () => void): void => {
		waiting.push(() => {
			clock.setTimer(serviceMs(), () => {
				busy--
				done()
				next()
			})
		})
		next()
	}
}

/** From 0.1 to 1.9 times 50 ms. */
function usual(): () => number {
	const random = seededRandom(1)
	return () => 50 * (0.1 + 1.8 * random())
}

/** Callers who come again as soon as they are answered; tells the limit at every answer. */
function loaded(clock: VirtualRuntime, policy: AdaptiveBulkhead, callers: number, serviceMs = usual()) {
	const limits: number[] = []
	const serve = server(clock, 20, serviceMs)
	let isOver = false
	const call = (): void =>
		clock.run<void>(
			policy,
			(_, done) => serve(() => done()),
			() => {
				limits.push(policy.stats.maxConcurrent)
				if (!isOver) call()
			},
		)
	for (let i = 0; i < callers; i++) call()
	return {
		limits,
		run: (ms: number) => clock.runTimers(ms),
		stop() {
			isOver = true
			clock.runTimers()
		},
	}
}

const meanOf = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0) / numbers.length

function adaptive(clock: VirtualRuntime, options: AdaptiveBulkheadOptions = {}) {
	const policy = adaptiveBulkhead({
		maxQueue: Infinity,
		queueTimeoutMs: Infinity,
		runtime: clock,
		...options,
	})
	const events: YaokiEvent[] = []
	policy.subscribe((event) => events.push(event))
	return { policy, events }
}

describe('an adaptive bulkhead', () => {
	test.each([4, 20, 120])(
		'finds the capacity of a server with 20 workers, starting from %i',
		(initialConcurrent) => {
			const clock = virtualRuntime()
			const { policy } = adaptive(clock, { initialConcurrent })
			const load = loaded(clock, policy, 300)
			load.run(60_000)
			const mean = meanOf(load.limits.slice(-5_000))
			expect(mean).toBeGreaterThan(20)
			expect(mean).toBeLessThan(56)
			load.stop()
			expect(policy.stats).toMatchObject({ concurrent: 0, queued: 0 })
		},
	)

	test('an adaptive bulkhead with aimd finds the concurrency that keeps latency below its limit', () => {
		const clock = virtualRuntime()
		const { policy } = adaptive(clock, { algorithm: 'aimd', latencyLimitMs: 150 })
		const load = loaded(clock, policy, 300)
		load.run(60_000)
		const mean = meanOf(load.limits.slice(-5_000))
		expect(mean).toBeGreaterThan(20)
		expect(mean).toBeLessThan(50)
	})

	test('emits every change of its limit, each from where the last one ended', () => {
		const clock = virtualRuntime()
		const { policy, events } = adaptive(clock, { name: 'search' })
		loaded(clock, policy, 300).run(5_000)
		const changes = events.flatMap((event) => (event.type === 'limit_change' ? [event] : []))
		expect(changes.length).toBeGreaterThan(10)
		expect(changes[0]).toMatchObject({ emitter: 'search', from: 20 })
		for (const [i, { from, to }] of changes.entries()) {
			expect(from).toBe(i ? changes[i - 1]?.to : 20)
			expect(to).not.toBe(from)
		}
		expect(policy.stats.maxConcurrent).toBe(changes.at(-1)?.to)
	})

	test('reports latency measurements neither in events nor in stats', () => {
		const clock = virtualRuntime()
		const { policy, events } = adaptive(clock, { minConcurrent: 1, maxConcurrent: 24, initialConcurrent: 24 })
		const load = loaded(clock, policy, 300)
		let least = Infinity
		for (let ms = 0; ms < 20_000; ms += 10) {
			load.run(10)
			least = Math.min(least, policy.stats.concurrent)
		}
		// There were such looks: fewer ran for a while, though callers never let up.
		expect(least).toBeLessThanOrEqual(12)
		expect(Math.min(...load.limits)).toBeGreaterThan(15)
		for (const event of events)
			if (event.type === 'limit_change') expect(event.to / event.from).toBeGreaterThan(0.7)
	})

	test('admits callers again soon if hung calls exceed the lowered limit of a measurement', () => {
		const clock = virtualRuntime()
		const { policy } = adaptive(clock, { maxConcurrent: 20, initialConcurrent: 20 })
		const load = loaded(clock, policy, 100)
		load.run(50)
		// Fourteen of twenty hang forever; a probe admits ten of them.
		for (let i = 0; i < 14; i++) {
			void clock.run(
				policy,
				() => {},
				() => {},
			)
		}
		load.run(1_000)
		const gaps: number[] = []
		let answered = load.limits.length
		let since = clock.now()
		for (let ms = 0; ms < 60_000; ms += 10) {
			load.run(10)
			if (load.limits.length === answered) continue
			gaps.push(clock.now() - since)
			answered = load.limits.length
			since = clock.now()
		}
		expect(policy.stats.concurrent).toBeGreaterThanOrEqual(14)
		expect(gaps.length).toBeGreaterThan(1_000)
		expect(clock.now() - since).toBeLessThan(1_000)
		expect(Math.max(...gaps)).toBeLessThan(1_000)
		// It did probe: for the length of some calls, no call was admitted.
		expect(Math.max(...gaps)).toBeGreaterThan(150)
	})

	test('keeps the server busy if one call in twenty takes twenty times as long', () => {
		const shares = [1, 2, 3, 4, 5, 6].map((seed) => {
			const clock = virtualRuntime()
			const random = seededRandom(seed)
			const load = loaded(clock, adaptive(clock).policy, 400, () => (random() < 0.05 ? 500 : 26))
			load.run(60_000)
			return (load.limits.length * 49.7) / 20 / 60_000
		})
		expect(meanOf(shares)).toBeGreaterThan(0.9)
	})

	test('leaves no timer after a latency measurement', () => {
		const clock = virtualRuntime()
		const { policy } = adaptive(clock, { maxConcurrent: 4 })
		let looks = 0
		for (let round = 0; round < 100; round++) {
			for (let i = 0; i < 4; i++) {
				clock.run<void>(
					policy,
					(_, done) => void clock.setTimer(10, done),
					() => {},
				)
			}
			if (policy.stats.queued) looks++
			// Else the four have just begun, and nothing else is waited for.
			else expect(clock.pendingTimers).toBe(4)
			clock.runTimers(20)
		}
		expect(looks).toBeGreaterThan(4)
	})

	test('never exceeds its limit, and queues and rejects like a bulkhead', async () => {
		const clock = virtualRuntime()
		const policy = adaptiveBulkhead({ initialConcurrent: 2, maxQueue: 1, queueTimeoutMs: 70, runtime: clock })
		const { begun, work, end } = byHand(clock)
		void policy.execute(work('a'))
		void policy.execute(work('b'))
		const queued = watched(clock, policy.execute(work('c')))
		await expect(policy.execute(work('d'))).rejects.toThrow('bulkhead full (maxConcurrent 2, maxQueue 1)')
		expect(policy.stats).toEqual({ concurrent: 2, queued: 1, maxConcurrent: 2, maxQueue: 1 })
		await clock.advance(70)
		expect(queued).toMatchObject({ at: 70, answer: { name: 'BulkheadRejectedError' } })
		const next = watched(clock, policy.execute(work('e')))
		await end('a')
		expect(begun).toEqual(['a', 'b', 'e'])
		await end('e')
		expect(next.answer).toBe('e')
	})
})

describe('its limit', () => {
	/** The limit of 20 after one call that ended so. */
	async function limitAfter(
		work: () => unknown,
		options: AdaptiveBulkheadOptions = {},
		signal?: AbortSignal,
	) {
		const clock = virtualRuntime()
		const { policy } = adaptive(clock, { initialConcurrent: 20, ...options })
		await policy.settle(work, { signal })
		return policy.stats.maxConcurrent
	}
	const throwing = (error: unknown) => () => Promise.reject(error)

	test.each([
		['429', throwing(new HttpError(429))],
		['503', throwing(new HttpError(503))],
		['a lost connection', throwing(Object.assign(new Error('x'), { code: 'ECONNRESET' }))],
		['an unknown error', throwing(new Error('x'))],
	])('falls by a tenth after %s', async (_, work) => {
		expect(await limitAfter(work)).toBe(18)
	})

	test.each([
		['a success', () => 1],
		['404', throwing(new HttpError(404))],
		['what the user calls permanent', throwing(permanent(new Error('x')))],
	])('does not fall after %s', async (_, work) => {
		expect(await limitAfter(work)).toBe(20)
	})

	test("follows the user's classifier", async () => {
		const classify = () => ({ kind: 'permanent' as const, isKnown: true })
		expect(await limitAfter(throwing(new HttpError(503)), { classify })).toBe(20)
	})

	test("ignores a caller's abort", async () => {
		const controller = new AbortController()
		const work = () => {
			controller.abort()
			throw new HttpError(503)
		}
		expect(await limitAfter(work, {}, controller.signal)).toBe(20)
	})

	test('ignores inner rejections and the losers of a hedge', async () => {
		const clock = virtualRuntime()
		const { policy: slots } = adaptive(clock, { initialConcurrent: 20 })
		const breaker = circuitBreaker({ runtime: clock })
		breaker.isolate()
		const rejected = await pipeline({ runtime: clock }, slots, breaker).settle(never)
		expect(rejected).toMatchObject({ ok: false, error: { name: 'CircuitOpenError' } })
		const hedged = pipeline({ runtime: clock }, hedge({ delayMs: 10 }), slots)
		let sent = 0
		const call = watched(
			clock,
			hedged.execute((context) => (sent++ ? 'hedge' : obedient(context))),
		)
		await clock.runUntilIdle()
		expect(call).toEqual({ at: 10, answer: 'hedge' })
		expect(slots.stats).toMatchObject({ maxConcurrent: 20, concurrent: 0 })
	})

	test('falls after a timeout, inside or around', async () => {
		const clock = virtualRuntime()
		const inside = adaptive(clock, { initialConcurrent: 20 }).policy
		const around = adaptive(clock, { initialConcurrent: 20 }).policy
		void pipeline({ runtime: clock }, inside, timeout(50)).settle(obedient)
		void pipeline({ runtime: clock }, timeout(50), around).settle(obedient)
		await clock.runUntilIdle()
		expect([inside.stats.maxConcurrent, around.stats.maxConcurrent]).toEqual([18, 18])
	})

	test('ignores callers that timed out before they ran, although they had a slot', async () => {
		const clock = virtualRuntime()
		const { policy: slots } = adaptive(clock, { minConcurrent: 1, initialConcurrent: 10 })
		const policy = pipeline({ runtime: clock }, timeout(50), slots)
		// Ten run, and their time ends with that of thirty in the queue, which get the slots in passing.
		let began = 0
		const calls = Array.from({ length: 40 }, () =>
			policy.settle((context) => {
				began++
				return obedient(context)
			}),
		)
		await clock.runUntilIdle()
		await Promise.all(calls)
		expect(began).toBe(10)
		// One round of drops, which counts once.
		expect(slots.stats).toMatchObject({ maxConcurrent: 9, concurrent: 0, queued: 0 })
	})

	test('uses the time in the slot, not in the queue', async () => {
		const clock = virtualRuntime()
		const { policy } = adaptive(clock, { initialConcurrent: 1, algorithm: 'aimd', latencyLimitMs: 15 })
		const calls = Array.from({ length: 10 }, () => policy.settle(taking(clock, 10)))
		await clock.runUntilIdle()
		await Promise.all(calls)
		expect(policy.stats.maxConcurrent).toBeGreaterThan(1)
	})

	test('a classifier that throws ends the call, and the slot is freed', async () => {
		const clock = virtualRuntime()
		const classify = () => {
			throw new Error('from the classifier')
		}
		const { policy } = adaptive(clock, { initialConcurrent: 1, maxConcurrent: 1, classify })
		const calls = [1, 2, 3].map(() => policy.settle(throwing(new Error('x'))))
		await clock.runUntilIdle()
		for (const result of await Promise.all(calls))
			expect(result).toMatchObject({ ok: false, error: { message: 'from the classifier' } })
		expect(policy.stats).toMatchObject({ concurrent: 0, queued: 0 })
	})

	test('counts one sample for a call with several attempts', async () => {
		const clock = virtualRuntime()
		const { policy: slots } = adaptive(clock, { initialConcurrent: 20 })
		const policy = pipeline({ runtime: clock }, slots, retry({ ...steady, maxRetries: 3 }))
		const call = policy.settle(throwing(new HttpError(503)))
		await clock.runUntilIdle()
		await call
		expect(slots.stats.maxConcurrent).toBe(18)
	})
})

describe('changed bounds', () => {
	test('apply immediately, wake queued calls, and keep the found limit within them', async () => {
		const clock = virtualRuntime()
		const { policy } = adaptive(clock, { initialConcurrent: 2, maxConcurrent: 4 })
		const { begun, work } = byHand(clock)
		for (const name of ['a', 'b', 'c', 'd']) void policy.execute(work(name))
		policy.update({ minConcurrent: 3 })
		await clock.advance(0)
		expect(begun).toEqual(['a', 'b', 'c'])
		expect(policy.stats).toMatchObject({ concurrent: 3, queued: 1, maxConcurrent: 3 })
		policy.update({ minConcurrent: 1, maxConcurrent: 2 })
		expect(policy.stats).toMatchObject({ concurrent: 3, queued: 1, maxConcurrent: 2 })
	})

	test('may exclude the initial limit once the bulkhead runs', () => {
		const policy = adaptiveBulkhead({ initialConcurrent: 50 })
		policy.update({ maxConcurrent: 30 })
		expect(policy.stats.maxConcurrent).toBe(30)
		expect(() => policy.update({ maxConcurrent: 0 })).toThrow(
			/Invalid option "maxConcurrent": expected .*, got 0/,
		)
	})
})
