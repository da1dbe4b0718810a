/** The worst cases of single rules, computed by hand or compared with a call in virtual time. */
import { describe, expect, test } from 'vitest'
import {
	adaptiveThrottle,
	bulkhead,
	circuitBreaker,
	fallback,
	hedge,
	lastGoodValue,
	lint,
	type Policy,
	pipeline,
	rateLimiter,
	retry,
	timeout,
} from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { HANGS, runCall } from './histories.ts'

const fixed = { baseDelayMs: 100, growth: 'constant', jitterStrategy: 'none' } as const
/** Retries rejections too, after 100 ms. */
const eager = () => retry({ ...fixed, maxRetries: 2, shouldRetry: () => true, delayFor: () => undefined })
const worst = (...policies: readonly Policy<unknown>[]): number => lint(pipeline(...policies)).worstMs

describe('a rejection', () => {
	test.each([
		['a rate limiter', () => rateLimiter({ maxWaitMs: 0 })],
		['a throttle', () => adaptiveThrottle()],
		['a breaker', () => circuitBreaker()],
		['a bulkhead without a queue', () => bulkhead({ maxQueue: 0 })],
	])('by %s is immediate', (_, rejecting) => {
		// Two rejections, each followed by a delay, then an attempt.
		expect(worst(eager(), rejecting(), fallback('instead'), timeout(50))).toBe(2 * 100 + 50)
	})

	test('a rejection by a breaker comes after the wait for a rate limiter outside of it', () => {
		const limiter = rateLimiter({ maxWaitMs: 70 })
		expect(worst(eager(), limiter, circuitBreaker(), fallback('instead'), timeout(50))).toBe(
			2 * (70 + 100) + 70 + 50,
		)
	})
})

describe('a fallback', () => {
	const orElse = ['instead']
	test('a fallback that is a function takes any time, whether or not a constant follows it', () => {
		for (const options of [{}, { orElse }])
			expect(
				lint(
					pipeline(
						fallback(() => 'instead', options),
						timeout(50),
					),
				),
			).toMatchObject({
				worstMs: Infinity,
				meanMs: Infinity,
			})
	})

	test('counts if the only failure inside is an immediate rejection, and not if there is none', () => {
		const outer = fallback(() => 'instead')
		expect(worst(outer, circuitBreaker(), fallback('instead'), timeout(50))).toBe(Infinity)
		expect(worst(outer, fallback('instead'), timeout(50))).toBe(50)
	})

	test('takes no longer than a success if failures are faster', () => {
		expect(worst(fallback('outer'), circuitBreaker(), fallback('inner'), timeout(50))).toBe(50)
	})

	test.each([
		['a function', () => fallback(() => 'instead'), 3],
		['the last good value', () => fallback(lastGoodValue(1_000)), 3],
		['a constant', () => fallback('instead'), 1],
		['a function and then a constant', () => fallback(() => 'instead', { orElse }), 1],
	])('that is %s can fail and be retried, or not', (_, create, attempts) => {
		expect(lint(pipeline(eager(), create(), timeout(50))).maxAttempts).toBe(attempts)
	})
})

describe('hedges', () => {
	test('hedges without a delay add attempts and no time', () => {
		expect(lint(pipeline(hedge({ delayMs: 0, maxHedges: 2 }), timeout(50)))).toMatchObject({
			worstMs: 50,
			maxAttempts: 3,
		})
	})

	test('add no time if the first request cannot fail', () => {
		expect(worst(hedge({ delayMs: 10 }), fallback('instead'), timeout(50))).toBe(50)
	})

	test('start before the first request is rejected, and may succeed', () => {
		const queue = bulkhead({ maxQueue: 1, queueTimeoutMs: 45 })
		// Sent at 30, queued until 75.
		expect(worst(hedge({ delayMs: 30, maxHedges: 2 }), queue, fallback('instead'), timeout(50))).toBe(125)
	})

	test('count if they start when the timeout around them fires, and not if they start later', () => {
		const hedged = (delayMs: number) => lint(pipeline(timeout(50), hedge({ delayMs }))).maxAttempts
		expect([hedged(50), hedged(51)]).toEqual([2, 1])
	})
})

describe('a retry', () => {
	test('is repeated by an outer one if a timeout between them can fire with its last attempt', () => {
		const three = () => retry({ ...fixed, maxRetries: 2 })
		const nested = (ms: number) => lint(pipeline(three(), timeout(ms), three(), timeout(50))).maxAttempts
		const wholeMs = 3 * 50 + 2 * 100
		expect([nested(wholeMs), nested(wholeMs + 1)]).toEqual([9, 3])
	})

	test.each([
		[250, 210],
		[220, 210],
		[210, 210],
	])('within %d ms makes its last attempt after %d ms at the latest', async (maxElapsedMs, lastMs) => {
		const clock = virtualRuntime()
		const limited = retry({ ...fixed, maxRetries: 9, maxElapsedMs })
		const policy = pipeline({ runtime: clock }, limited, timeout(5))
		expect((await runCall(clock, policy, HANGS)).ms).toBe(lastMs + 5)
		expect(lint(policy)).toMatchObject({ worstMs: lastMs + 5, meanMs: lastMs + 5 })
	})

	test.each([999, 1_000, 1_001, 5_000])('a retry with maxRetries %d counts every attempt', (maxRetries) => {
		const many = retry({ ...fixed, baseDelayMs: 2, maxRetries })
		expect(lint(pipeline(many, timeout(5))).maxAttempts).toBe(maxRetries + 1)
		expect(lint(pipeline(many, hedge({ delayMs: 1 }), timeout(5))).maxAttempts).toBe(2 * (maxRetries + 1))
		// A Retry-After may be shorter than the backoff, so the timeout does not limit them.
		expect(lint(pipeline(timeout(4_000), many)).maxAttempts).toBe(maxRetries + 1)
	})

	test('a retry with up to 1,000 retries has an exact mean', () => {
		const many = retry({ ...fixed, baseDelayMs: 2, maxRetries: 1_000 })
		expect(lint(pipeline(many, timeout(5))).meanMs).toBe(1_001 * 5 + 1_000 * 2)
	})
})
