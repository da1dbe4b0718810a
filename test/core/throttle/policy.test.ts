import { describe, expect, test } from 'vitest'
import { adaptiveThrottle, explain, permanent, pipeline, retry, timeout, type YaokiEvent } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { exceptCalls, settled, steady } from '../../support/scenario.ts'

/** The formula of the SRE book without limits. */
const unlimited = { maxRejectionRate: 1, minimumRequests: 1 } as const

const overloaded = () => Promise.reject(new Error('overloaded'))

/** Returns how many of these calls reach a dependency that rejects all of them. */
async function countSent(policy: ReturnType<typeof adaptiveThrottle>, calls: number): Promise<number> {
	let sent = 0
	for (let i = 0; i < calls; i++)
		await policy.settle(() => {
			sent++
			return overloaded()
		})
	return sent
}

/** A clock whose random numbers are all the same. */
function setup(value: number): VirtualRuntime {
	const clock = virtualRuntime()
	return Object.assign(clock, { random: () => value })
}

describe('adaptiveThrottle', () => {
	test('rejects nothing while the dependency accepts at least one call in k', async () => {
		const clock = setup(0)
		const policy = adaptiveThrottle({ runtime: clock })
		for (let i = 0; i < 100; i++) {
			const result = await settled(
				clock,
				policy.execute(() => (i % 2 ? overloaded() : 'ok')),
			)
			expect(result).not.toMatchObject({ error: { name: 'RateLimitedError' } })
		}
		expect(policy.stats).toEqual({ rejectProbability: 0 })
	})

	test('rejects with the probability (requests - k * accepts) / (requests + 1)', async () => {
		const clock = setup(0.999)
		const policy = adaptiveThrottle({ runtime: clock })
		for (let i = 0; i < 10; i++)
			await settled(
				clock,
				policy.execute(() => 'ok'),
			)
		for (let i = 0; i < 29; i++) await settled(clock, policy.execute(overloaded))
		expect(policy.stats.rejectProbability).toBe((39 - 2 * 10) / 40)
	})

	test.each([
		[0.4749, true],
		[0.475, false],
	])('with a probability of 0.475 and a random number of %s, rejects: %s', async (drawn, isRejected) => {
		const clock = setup(0.999)
		const policy = adaptiveThrottle({ runtime: clock })
		for (let i = 0; i < 10; i++)
			await settled(
				clock,
				policy.execute(() => 'ok'),
			)
		for (let i = 0; i < 29; i++) await settled(clock, policy.execute(overloaded))
		Object.assign(clock, { random: () => drawn })
		const result = await settled(
			clock,
			policy.execute(() => 'ok'),
		)
		expect(result.ok).toBe(!isRejected)
	})

	test('counts its own rejections as requests, so that it sends fewer and fewer', async () => {
		const clock = setup(0)
		const policy = adaptiveThrottle({ ...unlimited, runtime: clock })
		await settled(clock, policy.execute(overloaded))
		expect(policy.stats.rejectProbability).toBe(1 / 2)
		await settled(
			clock,
			policy.execute(() => 'never called'),
		)
		expect(policy.stats.rejectProbability).toBe(2 / 3)
	})

	test('counts a permanent error as accepted, because the dependency responded', async () => {
		const clock = setup(0)
		const policy = adaptiveThrottle({ runtime: clock })
		for (let i = 0; i < 20; i++)
			await settled(
				clock,
				policy.execute(() => Promise.reject(permanent(new Error('no such user')))),
			)
		expect(policy.stats).toEqual({ rejectProbability: 0 })
	})

	test('counts a timeout as not accepted', async () => {
		const clock = setup(0.999)
		const throttle = adaptiveThrottle(unlimited)
		const policy = pipeline({ runtime: clock }, throttle, timeout(10))
		await settled(
			clock,
			policy.execute(() => new Promise(() => {})),
		)
		expect(throttle.stats).toEqual({ rejectProbability: 1 / 2 })
	})

	test('sends the n-th call to a dependency that is down with probability 1 / n', async () => {
		const clock = virtualRuntime({ seed: 7 })
		const policy = adaptiveThrottle({ ...unlimited, runtime: clock })
		const sent = await countSent(policy, 2_000)
		// The expected number of calls is the harmonic number of 2,000, which is 8.2, with a deviation of 2.5.
		expect(sent).toBeGreaterThan(2)
		expect(sent).toBeLessThan(16)
	})

	test('sends one call in ten to a dependency that is down, by default', async () => {
		const clock = virtualRuntime({ seed: 7 })
		const policy = adaptiveThrottle({ runtime: clock })
		const sent = await countSent(policy, 2_000)
		// About 200, with a deviation of 13.
		expect(sent).toBeGreaterThan(140)
		expect(sent).toBeLessThan(260)
		expect(policy.stats).toEqual({ rejectProbability: 0.9 })
	})

	test('rejects nothing before minimumRequests calls', async () => {
		const clock = setup(0)
		const policy = adaptiveThrottle({ minimumRequests: 3, runtime: clock })
		const codes: unknown[] = []
		for (let i = 0; i < 4; i++) {
			const result = await settled(clock, policy.execute(overloaded))
			codes.push(result.ok ? undefined : (result.error as { code?: string }).code)
		}
		expect(codes).toEqual([undefined, undefined, undefined, 'YAOKI_RATE_LIMITED'])
	})

	test('sends all calls again when the window has passed', async () => {
		const clock = setup(0)
		const policy = adaptiveThrottle({ ...unlimited, runtime: clock })
		await settled(clock, policy.execute(overloaded))
		await clock.advance(120_000)
		expect(policy.stats).toEqual({ rejectProbability: 0 })
		expect(
			await settled(
				clock,
				policy.execute(() => 'ok'),
			),
		).toEqual({ ok: true, value: 'ok' })
	})

	test('recovers when the dependency accepts calls again', async () => {
		const clock = setup(0.999)
		const policy = adaptiveThrottle({ runtime: clock })
		for (let i = 0; i < 10; i++) await settled(clock, policy.execute(overloaded))
		for (let i = 0; i < 10; i++)
			await settled(
				clock,
				policy.execute(() => 'ok'),
			)
		expect(policy.stats).toEqual({ rejectProbability: 0 })
	})

	test('rejects without retryAfterMs and emits a rejected event', async () => {
		const clock = setup(0)
		const policy = adaptiveThrottle({ ...unlimited, name: 'search', runtime: clock })
		const events: YaokiEvent[] = []
		policy.subscribe(exceptCalls((event) => events.push(event)))
		await settled(clock, policy.execute(overloaded))
		const result = await settled(
			clock,
			policy.execute(() => 'never called'),
		)
		expect(result).toMatchObject({
			error: { code: 'YAOKI_RATE_LIMITED', policy: 'search' },
		})
		const error = result.ok ? undefined : result.error
		expect(error).toMatchObject({ retryAfterMs: undefined })
		expect(events).toEqual([
			expect.objectContaining({ type: 'rejected', reason: 'adaptive-throttle', emitter: 'search' }),
		])
		expect(explain(error)).toMatchObject({ stop: 'rejected' })
	})

	test('inside a retry counts every attempt, and rejections are not retried by default', async () => {
		const clock = setup(0)
		const throttle = adaptiveThrottle(unlimited)
		const policy = pipeline({ runtime: clock }, retry(steady), throttle)
		let sent = 0
		const answer = policy.execute(() => {
			sent++
			return overloaded()
		})
		expect(await settled(clock, answer)).toMatchObject({ error: { name: 'RateLimitedError' } })
		expect(sent).toBe(1)
		expect(clock.now()).toBe(100)
	})

	test('update changes the settings and keeps the counts', async () => {
		const clock = setup(0.999)
		const policy = adaptiveThrottle({ ...unlimited, runtime: clock })
		await settled(
			clock,
			policy.execute(() => 'ok'),
		)
		for (let i = 0; i < 3; i++) await settled(clock, policy.execute(overloaded))
		expect(policy.stats.rejectProbability).toBe(2 / 5)
		policy.update({ k: 1 })
		expect(policy.stats.rejectProbability).toBe(3 / 5)
		policy.update({ windowMs: 1_000 })
		expect(policy.stats.rejectProbability).toBe(3 / 5)
		await clock.advance(1_000)
		expect(policy.stats.rejectProbability).toBe(0)
		expect(() => policy.update({ k: 0.5 })).toThrow(/Invalid option "k": expected .*, got 0\.5/)
	})

	test.each([{ k: 0 }, { windowMs: 0 }, { kk: 2 }])('rejects %o', (options) => {
		expect(() => adaptiveThrottle(options as object)).toThrow(`option "${Object.keys(options)[0]}"`)
	})
})
