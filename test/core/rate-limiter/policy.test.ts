import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { Deadline, explain, pipeline, rateLimiter, retry, timeout, type YaokiEvent } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { dead, settled, steady } from '../../scenario.ts'

const algorithms = ['token-bucket', 'sliding-window'] as const

/** A limiter of two calls a second, and calls through it that write down when they start. */
function limited(options: Parameters<typeof rateLimiter>[0]) {
	const clock = virtualRuntime()
	const policy = rateLimiter({ limit: 2, intervalMs: 1_000, runtime: clock, ...options })
	const starts: string[] = []
	const call = (name: string, callOptions?: Parameters<typeof policy.execute>[1]) =>
		policy.execute(() => starts.push(`${name} at ${clock.now()}`), callOptions)
	return { clock, policy, starts, call }
}

describe.each(algorithms)('a rate limiter (%s)', (algorithm) => {
	test('lets calls start at once within the limit', async () => {
		const { clock, call, starts } = limited({ algorithm })
		await settled(clock, Promise.all([call('a'), call('b')]))
		expect(starts).toEqual(['a at 0', 'b at 0'])
	})

	test('refuses the others at once and says when to come back', async () => {
		const { clock, call, starts } = limited({ algorithm, name: 'api' })
		await Promise.all([call('a'), call('b')])
		const retryAfterMs = algorithm === 'token-bucket' ? 500 : 1_000
		expect(await settled(clock, call('c'))).toMatchObject({
			ok: false,
			error: {
				name: 'RateLimitedError',
				code: 'YAOKI_RATE_LIMITED',
				retryAfterMs,
				message: `api: the rate limit is used up; try again in ${retryAfterMs} ms`,
			},
		})
		await clock.advance(retryAfterMs - 1)
		expect(await settled(clock, call('too early'))).toMatchObject({ error: { retryAfterMs: 1 } })
		await clock.advance(1)
		await settled(clock, call('in time'))
		expect(starts).toEqual(['a at 0', 'b at 0', `in time at ${retryAfterMs}`])
	})

	test('has the others wait in order, up to `maxWaitMs`', async () => {
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

	test('waits for as long as it takes, if told to', async () => {
		const { clock, call, starts } = limited({ algorithm, limit: 1, maxWaitMs: Infinity })
		await settled(clock, Promise.all(Array.from({ length: 5 }, (_, i) => call(`${i}`))))
		expect(starts).toEqual(['0 at 0', '1 at 1000', '2 at 2000', '3 at 3000', '4 at 4000'])
	})

	test('gives the place back when the caller aborts the wait, which ends at once with the reason', async () => {
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

	test('gives the place back when a timeout outside ends the wait', async () => {
		const { clock, policy, starts } = limited({ algorithm, limit: 1, maxWaitMs: 1_000 })
		const hasty = pipeline({ runtime: clock }, timeout(100), policy)
		const work = () => starts.push(`at ${clock.now()}`)
		await hasty.execute(work)
		expect(await settled(clock, hasty.execute(work))).toMatchObject({ error: { name: 'TimeoutError' } })
		await settled(clock, policy.execute(work))
		expect(starts).toEqual(['at 0', 'at 1000'])
	})

	test('refuses at once who would wait past the deadline, and keeps no place for it', async () => {
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

	test('books places ahead for calls that are made some other way', async () => {
		const { clock, policy, call, starts } = limited({ algorithm, limit: 1, maxWaitMs: 5_000 })
		expect([policy.reserve().delayMs, policy.reserve().delayMs]).toEqual([0, 1_000])
		await settled(clock, call('a'))
		expect(starts).toEqual(['a at 2000'])
	})

	test('takes a booking back, once', async () => {
		const { clock, policy, call } = limited({ algorithm, limit: 1 })
		policy.reserve()
		const booked = policy.reserve()
		expect(policy.stats).toEqual({ available: 0, retryAfterMs: 2_000 })
		booked.cancel()
		booked.cancel()
		expect(policy.stats).toEqual({ available: 0, retryAfterMs: 1_000 })
		const [, last] = [policy.reserve(), policy.reserve()]
		last.cancel()
		// The place that was given back twice belongs to somebody else now.
		expect(policy.stats).toEqual({ available: 0, retryAfterMs: 2_000 })
		await clock.advance(2_000)
		await call('a')
		await expect(call('b')).rejects.toMatchObject({ name: 'RateLimitedError' })
	})

	test('shows what it has to give', async () => {
		const { clock, policy, call } = limited({ algorithm })
		expect(policy.stats).toEqual({ available: 2, retryAfterMs: 0 })
		await call('a')
		expect(policy.stats).toEqual({ available: 1, retryAfterMs: 0 })
		await call('b')
		expect(policy.stats).toMatchObject({ available: 0 })
		await clock.advance(1_000)
		expect(policy.stats).toEqual({ available: 2, retryAfterMs: 0 })
	})

	test('takes another rate from now on and forgets no call', async () => {
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

	test('is told in an event and found by explain', async () => {
		const { clock, policy, call } = limited({ algorithm, limit: 1, name: 'api' })
		const events: YaokiEvent[] = []
		policy.subscribe((event) => events.push(event))
		await call('a')
		const result = await settled(clock, call('b', { name: 'load' }))
		expect(events).toEqual([
			{
				type: 'rejected',
				reason: 'rate-limited',
				retryAfterMs: 1_000,
				policy: 'api',
				call: 'load',
				timestamp: expect.any(Number),
			},
		])
		expect(explain(result.ok ? undefined : result.error)).toMatchObject({ stop: 'rejected' })
	})

	test('inside a retry counts every attempt, and its refusal is not retried by default', async () => {
		const { clock, policy } = limited({ algorithm })
		const work = dead(clock)
		const result = await settled(clock, pipeline({ runtime: clock }, retry(steady), policy).execute(work))
		expect(work.startedAt).toEqual([0, 100])
		expect(result).toMatchObject({ error: { name: 'RateLimitedError' } })
		expect(clock.now()).toBe(300)
	})

	test('inside a retry that wants it retried has the retry wait for as long as it asks', async () => {
		const { clock, policy, starts } = limited({ algorithm, limit: 1 })
		const stubborn = retry({ ...steady, shouldRetry: () => true })
		const work = () => starts.push(`at ${clock.now()}`)
		await policy.execute(work)
		await settled(clock, pipeline({ runtime: clock }, stubborn, policy).execute(work))
		expect(starts).toEqual(['at 0', 'at 1000'])
	})

	test('leaves no timer and no listener after waits that ended well', async () => {
		const { clock, call } = limited({ algorithm, maxWaitMs: Infinity })
		const { signal } = new AbortController()
		const added = vi.spyOn(signal, 'addEventListener')
		const removed = vi.spyOn(signal, 'removeEventListener')
		await settled(clock, Promise.all(['a', 'b', 'c', 'd'].map((name) => call(name, { signal }))))
		expect(added).toHaveBeenCalled()
		expect(removed).toHaveBeenCalledTimes(added.mock.calls.length)
		expect(clock.pendingTimers).toBe(0)
	})

	test('is never exceeded, whoever calls, waits and aborts when', async () => {
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
