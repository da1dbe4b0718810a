import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import {
	Deadline,
	explain,
	pipeline,
	type Runtime,
	rateLimiter,
	retry,
	timeout,
	type YaokiEvent,
} from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { dead, exceptCalls, settled, steady } from '../../support/scenario.ts'

const algorithms = ['token-bucket', 'sliding-window'] as const

/** A limiter of two calls per second, and calls through it that record when they start. */
function limited(options: Parameters<typeof rateLimiter>[0], clock = virtualRuntime()) {
	const policy = rateLimiter({ limit: 2, intervalMs: 1_000, runtime: clock, ...options })
	const starts: string[] = []
	const call = (name: string, callOptions?: Parameters<typeof policy.execute>[1]) =>
		policy.execute(() => starts.push(`${name} at ${clock.now()}`), callOptions)
	return { clock, policy, starts, call }
}

/** A clock with other timers. */
const withTimers = (clock: Runtime, setTimer: Runtime['setTimer']): Runtime => ({
	now: () => clock.now(),
	wallNow: () => clock.wallNow(),
	random: () => clock.random(),
	setTimer,
})

describe.each(algorithms)('rateLimiter (%s)', (algorithm) => {
	test('starts calls within the limit immediately', async () => {
		const { clock, call, starts } = limited({ algorithm })
		await settled(clock, Promise.all([call('a'), call('b')]))
		expect(starts).toEqual(['a at 0', 'b at 0'])
	})

	test('rejects calls above the limit immediately, with retryAfterMs', async () => {
		const { clock, call, starts } = limited({ algorithm, name: 'api' })
		await Promise.all([call('a'), call('b')])
		const retryAfterMs = algorithm === 'token-bucket' ? 500 : 1_000
		expect(await settled(clock, call('c'))).toMatchObject({
			ok: false,
			error: {
				name: 'RateLimitedError',
				code: 'YAOKI_RATE_LIMITED',
				retryAfterMs,
				policy: 'api',
			},
		})
		await clock.advance(retryAfterMs - 1)
		expect(await settled(clock, call('too early'))).toMatchObject({ error: { retryAfterMs: 1 } })
		await clock.advance(1)
		await settled(clock, call('in time'))
		expect(starts).toEqual(['a at 0', 'b at 0', `in time at ${retryAfterMs}`])
	})

	test('queues calls above the limit in order, up to maxWaitMs', async () => {
		const { clock, call, starts } = limited({ algorithm, maxWaitMs: 1_000 })
		const results = await settled(
			clock,
			Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map((name) => call(name))),
		)
		expect(starts).toEqual(
			algorithm === 'token-bucket'
				? ['a at 0', 'b at 0', 'c at 500', 'd at 1000']
				: ['a at 0', 'b at 0', 'c at 1000', 'd at 1000'],
		)
		const last = results.ok ? results.value[4] : undefined
		expect(last).toMatchObject({ reason: { retryAfterMs: algorithm === 'token-bucket' ? 1_500 : 2_000 } })
	})

	test('waits without a limit if maxWaitMs is Infinity', async () => {
		const { clock, call, starts } = limited({ algorithm, limit: 1, maxWaitMs: Infinity })
		await settled(clock, Promise.all(Array.from({ length: 5 }, (_, i) => call(`${i}`))))
		expect(starts).toEqual(['0 at 0', '1 at 1000', '2 at 2000', '3 at 3000', '4 at 4000'])
	})

	test('an abort ends the wait immediately with its reason and cancels the reservation', async () => {
		const { clock, call, starts } = limited({ algorithm, limit: 1, maxWaitMs: 1_000 })
		await call('a')
		const controller = new AbortController()
		const waiting = call('aborted', { signal: controller.signal })
		await clock.advance(100)
		controller.abort(new Error('I changed my mind'))
		await expect(waiting).rejects.toThrow('I changed my mind')
		expect(clock.now()).toBe(100)
		expect(clock.pendingTimers).toBe(0)
		await settled(clock, call('b'))
		expect(starts).toEqual(['a at 0', 'b at 1000'])
	})

	test('309 aborted calls do not delay the one behind them, and stats agree', async () => {
		const { clock, policy, call, starts } = limited({ algorithm, limit: 10, maxWaitMs: Infinity })
		const controller = new AbortController()
		for (let i = 0; i < 10; i++) await call('immediate')
		const soonest = policy.stats.retryAfterMs
		const aborted = Array.from({ length: 309 }, () => call('aborted', { signal: controller.signal }))
		const last = call('last')
		const behind = policy.stats.retryAfterMs
		controller.abort(new Error('the caller left'))
		const outcomes = await Promise.allSettled(aborted)
		expect(outcomes.map(({ status }) => status)).toEqual(aborted.map(() => 'rejected'))
		expect(behind).toBeGreaterThan(30_000)
		expect(policy.stats.retryAfterMs).toBe(algorithm === 'token-bucket' ? 200 : 1_000)
		await settled(clock, last)
		expect(starts.at(-1)).toBe(`last at ${soonest}`)
		expect(clock.pendingTimers).toBe(0)
	})

	test('calls behind a call that leaves later move up too, in order', async () => {
		const { clock, call, starts } = limited({ algorithm, limit: 1, maxWaitMs: Infinity })
		const controller = new AbortController()
		const calls = ['a', 'b', 'left', 'c', 'd'].map((name) =>
			call(name, name === 'left' ? { signal: controller.signal } : undefined),
		)
		clock.setTimer(1_500, () => controller.abort(new Error('the caller left')))
		await settled(clock, Promise.allSettled(calls))
		expect(starts).toEqual(['a at 0', 'b at 1000', 'c at 2000', 'd at 3000'])
	})

	test.each(['before', 'after'])(
		'a call that is aborted at its start, %s it is woken, leaves the start to the next one',
		async (when) => {
			const clock = virtualRuntime()
			const controller = new AbortController()
			const abort = () => controller.abort(new Error('the caller left'))
			const lateMs = 0.2
			// Timers fire late. The operation of a call that they wake starts in a microtask after this.
			const runtime = withTimers(clock, (ms, fn) =>
				clock.setTimer(ms + lateMs, () => {
					if (when === 'before') abort()
					fn()
					abort()
				}),
			)
			const { call, starts } = limited({ algorithm, limit: 1, maxWaitMs: Infinity, runtime }, clock)
			await call('a')
			const aborted = call('aborted', { signal: controller.signal })
			await settled(clock, Promise.allSettled([aborted, call('b'), call('c')]))
			expect(starts.map((start) => start.replace(/\..*/, ''))).toEqual(['a at 0', 'b at 1000', 'c at 2000'])
		},
	)

	test('a call does not overtake one that waits because its timer is late', async () => {
		const clock = virtualRuntime()
		const runtime = withTimers(clock, (ms, fn) => clock.setTimer(ms + 2_000, fn))
		const { call, starts } = limited({ algorithm, limit: 1, runtime, maxWaitMs: 1_000 }, clock)
		await call('a')
		const late = call('b')
		await clock.advance(2_500)
		await settled(clock, Promise.all([late, call('c')]))
		expect(starts).toEqual(['a at 0', 'b at 3000', 'c at 3000'])
	})

	test('a timer that was set under fake timers does not block later calls', async () => {
		const clock = virtualRuntime()
		let source = {}
		const fake = source
		const runtime = {
			...withTimers(clock, (ms, fn) => (source === fake ? () => {} : clock.setTimer(ms, fn))),
			timerSource: () => source,
		}
		const { call, starts } = limited({ algorithm, limit: 1, maxWaitMs: Infinity, runtime }, clock)
		await call('a')
		const stuck = call('waits under fake timers')
		source = {}
		await settled(clock, Promise.all([stuck, call('b')]))
		expect(starts).toEqual(['a at 0', 'waits under fake timers at 1000', 'b at 2000'])
	})

	test('a cancelled reservation lets a waiting call start earlier', async () => {
		const { clock, policy, call, starts } = limited({ algorithm, limit: 1, maxWaitMs: Infinity })
		const [, reservation] = [policy.reserve(), policy.reserve()]
		const waiting = call('a')
		expect(policy.stats.retryAfterMs).toBe(3_000)
		reservation.cancel()
		expect(policy.stats.retryAfterMs).toBe(2_000)
		await settled(clock, waiting)
		expect(starts).toEqual(['a at 1000'])
	})

	test('explain reports the wait', async () => {
		const { clock, policy } = limited({ algorithm, limit: 1, maxWaitMs: Infinity })
		await policy.execute(() => 1)
		const result = await settled(
			clock,
			policy.settle(() => Promise.reject(new Error('down'))),
		)
		expect(explain(result.ok ? result.value : undefined)?.attempts).toMatchObject([{ queuedMs: 1_000 }])
	})

	test('a timeout outside ends the wait and cancels the reservation', async () => {
		const { clock, policy, starts } = limited({ algorithm, limit: 1, maxWaitMs: 1_000 })
		const hasty = pipeline({ runtime: clock }, timeout(100), policy)
		const work = () => starts.push(`at ${clock.now()}`)
		await hasty.execute(work)
		expect(await settled(clock, hasty.execute(work))).toMatchObject({ error: { name: 'TimeoutError' } })
		await settled(clock, policy.execute(work))
		expect(starts).toEqual(['at 0', 'at 1000'])
	})

	test('rejects a call that would wait past its deadline immediately, without a reservation', async () => {
		const { clock, call, starts } = limited({ algorithm, limit: 1, maxWaitMs: 5_000 })
		await call('a')
		const deadline = Deadline.after(1_000, { runtime: clock })
		await expect(call('hasty', { deadline })).rejects.toMatchObject({
			name: 'RateLimitedError',
			retryAfterMs: 1_000,
		})
		expect(clock.now()).toBe(0)
		await settled(clock, call('b', { deadline: Deadline.after(1_001, { runtime: clock }) }))
		expect(starts).toEqual(['a at 0', 'b at 1000'])
	})

	test('reserve returns the delay for calls that do not go through the policy', async () => {
		const { clock, policy, call, starts } = limited({ algorithm, limit: 1, maxWaitMs: 5_000 })
		expect([policy.reserve().delayMs, policy.reserve().delayMs]).toEqual([0, 1_000])
		await settled(clock, call('a'))
		expect(starts).toEqual(['a at 2000'])
	})

	test('cancels a reservation once', async () => {
		const { clock, policy, call } = limited({ algorithm, limit: 1 })
		policy.reserve()
		const reservation = policy.reserve()
		expect(policy.stats).toEqual({ available: 0, retryAfterMs: 2_000 })
		reservation.cancel()
		reservation.cancel()
		expect(policy.stats).toEqual({ available: 0, retryAfterMs: 1_000 })
		const [, last] = [policy.reserve(), policy.reserve()]
		last.cancel()
		// The second cancel had no effect: the start belongs to another reservation.
		expect(policy.stats).toEqual({ available: 0, retryAfterMs: 2_000 })
		await clock.advance(2_000)
		await call('a')
		await expect(call('b')).rejects.toMatchObject({ name: 'RateLimitedError' })
	})

	test('stats returns the available calls and retryAfterMs', async () => {
		const { clock, policy, call } = limited({ algorithm })
		expect(policy.stats).toEqual({ available: 2, retryAfterMs: 0 })
		await call('a')
		expect(policy.stats).toEqual({ available: 1, retryAfterMs: 0 })
		await call('b')
		expect(policy.stats).toMatchObject({ available: 0 })
		await clock.advance(1_000)
		expect(policy.stats).toEqual({ available: 2, retryAfterMs: 0 })
	})

	test('update changes the rate and keeps waiting calls', async () => {
		const { clock, policy, call, starts } = limited({ algorithm, limit: 1 })
		await call('a')
		policy.update({ limit: 3, maxWaitMs: 10_000 })
		await clock.advance(1_000)
		const calls = ['b', 'c', 'd', 'e'].map((name) => call(name))
		await settled(clock, Promise.all(calls))
		expect(starts.slice(0, 4)).toEqual(['a at 0', 'b at 1000', 'c at 1000', 'd at 1000'])
		expect(Number(starts[4]?.split(' ')[2])).toBeGreaterThan(1_000)
		expect(() => policy.update({ limit: 0 })).toThrow(/Invalid option "limit": expected .*, got 0/)
		expect(() => policy.update({ algorithm } as object)).toThrow('Invalid option "algorithm"')
	})

	test('emits a rejected event, and explain reports the rejection', async () => {
		const { clock, policy, call } = limited({ algorithm, limit: 1, name: 'api' })
		const events: YaokiEvent[] = []
		policy.subscribe(exceptCalls((event) => events.push(event)))
		await call('a')
		const result = await settled(clock, call('b', { name: 'load' }))
		expect(events).toEqual([
			{
				type: 'rejected',
				reason: 'rate-limited',
				retryAfterMs: 1_000,
				emitter: 'api',
				callId: expect.any(String),
				call: 'load',
				attempt: 1,
				timestamp: expect.any(Number),
			},
		])
		expect(explain(result.ok ? undefined : result.error)).toMatchObject({ stop: 'rejected' })
	})

	test('inside a retry counts every attempt, and rejections are not retried by default', async () => {
		const { clock, policy } = limited({ algorithm })
		const work = dead(clock)
		const result = await settled(clock, pipeline({ runtime: clock }, retry(steady), policy).execute(work))
		expect(work.startedAt).toEqual([0, 100])
		expect(result).toMatchObject({ error: { name: 'RateLimitedError' } })
		expect(clock.now()).toBe(300)
	})

	test('inside a retry that retries rejections, the retry waits for retryAfterMs', async () => {
		const { clock, policy, starts } = limited({ algorithm, limit: 1 })
		// No jitter on top of retryAfterMs.
		vi.spyOn(clock, 'random').mockReturnValue(0)
		const stubborn = retry({ ...steady, shouldRetry: () => true })
		const work = () => starts.push(`at ${clock.now()}`)
		await policy.execute(work)
		await settled(clock, pipeline({ runtime: clock }, stubborn, policy).execute(work))
		expect(starts).toEqual(['at 0', 'at 1000'])
	})

	test('leaves no timer and no abort listener after a wait', async () => {
		const { clock, call } = limited({ algorithm, maxWaitMs: Infinity })
		const { signal } = new AbortController()
		const added = vi.spyOn(signal, 'addEventListener')
		const removed = vi.spyOn(signal, 'removeEventListener')
		await settled(clock, Promise.all(['a', 'b', 'c', 'd'].map((name) => call(name, { signal }))))
		expect(added).toHaveBeenCalled()
		expect(removed).toHaveBeenCalledTimes(added.mock.calls.length)
		expect(clock.pendingTimers).toBe(0)
	})

	test('never exceeds the limit with random calls, waits and aborts', async () => {
		const arrival = fc.record({
			afterMs: fc.nat(400),
			abortAfterMs: fc.option(fc.nat(900), { nil: undefined }),
		})
		await fc.assert(
			fc.asyncProperty(
				fc.integer({ min: 1, max: 4 }),
				fc.constantFrom(0, 700, Infinity),
				fc.array(arrival, { maxLength: 25 }),
				async (limit, maxWaitMs, arrivals) => {
					const clock = virtualRuntime()
					const policy = rateLimiter({ limit, maxWaitMs, algorithm, burst: 1, runtime: clock })
					const starts: number[] = []
					const order: number[] = []
					for (const [number, { afterMs, abortAfterMs }] of arrivals.entries()) {
						await clock.advance(afterMs)
						const controller = new AbortController()
						if (abortAfterMs !== undefined) clock.setTimer(abortAfterMs, () => controller.abort())
						const work = () => {
							starts.push(clock.now())
							order.push(number)
						}
						policy.execute(work, { signal: controller.signal }).catch(() => {})
					}
					await clock.runUntilIdle()
					expect(order).toEqual([...order].sort((a, b) => a - b))
					for (const [i, at] of starts.entries()) {
						const within = starts.filter((other, j) => j >= i && other < at + 1_000).length
						expect(within).toBeLessThanOrEqual(limit)
					}
				},
			),
			{ numRuns: 60 },
		)
	})
})
