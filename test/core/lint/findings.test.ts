import { describe, expect, test } from 'vitest'
import {
	adaptiveBulkhead,
	adaptiveThrottle,
	bulkhead,
	type CircuitBreakerOptions,
	CircuitOpenError,
	circuitBreaker,
	fallback,
	hedge,
	isRetryable,
	keyed,
	type LintOptions,
	lint,
	type Policy,
	pipeline,
	presets,
	type RetryOptions,
	rateLimiter,
	retry,
	retryBudget,
	timeout,
} from 'yaoki'
import { faults, virtualRuntime } from 'yaoki/testing'

/** Each finding as `code policy`, of policies around work that has a second to answer in. */
const found = (...policies: readonly Policy[]): readonly string[] =>
	codes(pipeline(...policies, timeout(1_000)))

const codes = (policy: Policy, options?: LintOptions): readonly string[] =>
	lint(policy, options).findings.map(({ code, policy: name }) => `${code} ${name}`)

const about = (policy: Policy, options?: LintOptions): string =>
	lint(policy, options)
		.findings.map(({ message }) => message)
		.join('\n')

describe('nothing is found', () => {
	test('in the pipeline that the documentation recommends', () => {
		const payments = pipeline(
			bulkhead({ maxConcurrent: 10, maxQueue: 50 }),
			circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 30_000 }),
			retry(presets.externalApi),
			timeout(5_000),
		)
		expect(lint(payments, { deadlineMs: 57_000 })).toMatchObject({
			worstMs: 30_000 + 4 * 5_000 + 7_000,
			meanMs: 4 * 5_000 + 3_500,
			maxCalls: 4,
			amplification: 4,
			findings: [],
		})
	})

	test.each(Object.entries(presets))('in the preset %s beside a timeout', (_, preset) => {
		expect(found(retry(preset))).toEqual([])
		expect(found(bulkhead(), circuitBreaker(), retry({ ...preset, budget: retryBudget() }))).toEqual([])
	})

	test('in a pipeline of everything, in the order that the guide gives', () => {
		const budget = retryBudget()
		const everything = found(
			fallback('instead'),
			timeout(60_000),
			bulkhead(),
			adaptiveThrottle(),
			circuitBreaker(),
			retry({ ...presets.externalApi, budget }),
			rateLimiter({ maxWaitMs: 500 }),
			hedge({ budget }),
		)
		expect(everything).toEqual([])
	})

	test('in any policy that is left at its defaults', () => {
		expect(found(bulkhead(), circuitBreaker(), retry(), rateLimiter())).toEqual([])
		expect(found(adaptiveBulkhead(), hedge({ budget: retryBudget() }))).toEqual([])
		expect(
			found(
				fallback('instead'),
				keyed(
					() => 'host',
					() => circuitBreaker(),
				),
				retry(),
			),
		).toEqual([])
	})

	test('in a preset whose number of retries was changed within the usual', () => {
		expect(found(retry({ ...presets.externalApi, maxRetries: 5 }))).toEqual([])
		expect(found(retry({ ...presets.batch, maxRetries: 4 }))).toEqual([])
	})
})

describe('settings outside of the usual', () => {
	const inRetry = (options: RetryOptions) => found(retry(options))
	const inBreaker = (options: CircuitBreakerOptions) => found(circuitBreaker(options))

	test.each([
		['base-delay', 'baseDelayMs', [99, 1_001], [100, 1_000]],
		['max-delay', 'maxDelayMs', [29_999, 60_001], [30_000, 60_000]],
		['retry-count', 'maxRetries', [0, 2, 6], [3, 5]],
	])('%s is told beyond its bounds, not at them', (code, option, beyond, within) => {
		for (const value of beyond) expect(inRetry({ [option]: value })).toEqual([`${code} retry`])
		for (const value of within) expect(inRetry({ [option]: value })).toEqual([])
	})

	test('the base and the cap do not matter to a list of delays of one’s own', () => {
		expect(inRetry({ growth: [10, 20, 40], baseDelayMs: 1, maxDelayMs: 40 })).toEqual([])
		expect(inRetry({ growth: [10], jitterStrategy: 'decorrelated', baseDelayMs: 99 })).toEqual([
			'base-delay retry',
		])
	})

	test('who waits as a preset does may retry as often, and nobody else', () => {
		expect(inRetry({ ...presets.batch, maxRetries: 11 })).toEqual(['retry-count retry'])
		expect(inRetry({ ...presets.batch, maxDelayMs: 200_000 })).toEqual([
			'base-delay retry',
			'max-delay retry',
			'retry-count retry',
		])
		expect(inRetry({ maxRetries: 10 })).toEqual(['retry-count retry'])
	})

	test('jitter-factor is told above a half, and only where it is used', () => {
		const proportional = { jitterStrategy: 'proportional' } as const
		expect(inRetry({ ...proportional, jitterFactor: 0.51 })).toEqual(['jitter-factor retry'])
		expect(inRetry({ ...proportional, jitterFactor: 0.5 })).toEqual([])
		expect(inRetry({ jitterFactor: 0.9 })).toEqual([])
	})

	test('no-jitter is told of none, and of a spread of nothing', () => {
		expect(inRetry({ jitterStrategy: 'none' })).toEqual(['no-jitter retry'])
		expect(inRetry({ jitterStrategy: 'proportional', jitterFactor: 0 })).toEqual(['no-jitter retry'])
		expect(inRetry({ jitterStrategy: 'additive', jitterRangeMs: 0 })).toEqual(['no-jitter retry'])
		expect(inRetry({ jitterStrategy: 'additive', jitterRangeMs: 1 })).toEqual([])
		expect(inRetry({ jitterFactor: 0, jitterRangeMs: 0 })).toEqual([])
	})

	test.each([
		['failure-threshold', 'failureThreshold', [4, 11], [5, 10]],
		['reset-timeout', 'resetTimeoutMs', [14_999, 60_001], [15_000, 60_000]],
		['half-open-probes', 'halfOpenMaxConcurrent', [4], [1, 3]],
	])('%s is told beyond its bounds, not at them', (code, option, beyond, within) => {
		for (const value of beyond) expect(inBreaker({ [option]: value })).toEqual([`${code} circuitBreaker`])
		for (const value of within) expect(inBreaker({ [option]: value })).toEqual([])
	})

	test('a breaker that goes by rates has no threshold to tell of', () => {
		expect(inBreaker({ failureThreshold: Infinity, errorRateThreshold: 0.5 })).toEqual([])
	})

	test('queue-size is told below twice and above five times the concurrency; no queue is a decision', () => {
		const withQueue = (maxQueue: number) => found(bulkhead({ maxConcurrent: 10, maxQueue }))
		for (const maxQueue of [1, 19, 51, Infinity]) expect(withQueue(maxQueue)).toEqual(['queue-size bulkhead'])
		for (const maxQueue of [0, 20, 50]) expect(withQueue(maxQueue)).toEqual([])
		expect(found(adaptiveBulkhead({ maxQueue: 5_000 }))).toEqual([])
	})
})

describe('time', () => {
	test('no-timeout is told when nothing ends work that hangs', () => {
		expect(codes(retry())).toEqual(['no-timeout retry'])
		expect(codes(pipeline({ name: 'payments' }, retry()))).toEqual(['no-timeout payments'])
		expect(codes(timeout(1_000))).toEqual([])
	})

	test('exceeds-deadline is told when the longest call is longer than the deadline', () => {
		const policy = pipeline({ name: 'payments' }, retry(presets.interactive), timeout(1_000))
		expect(codes(policy, { deadlineMs: 4_839 })).toEqual(['exceeds-deadline payments'])
		expect(about(policy, { deadlineMs: 4_839 })).toContain('4840 ms, and its caller waits for 4839 ms')
		expect(codes(policy, { deadlineMs: 4_840 })).toEqual([])
		expect(codes(policy)).toEqual([])
	})

	test('timeout-shorter-than-attempt is told of a timeout around retries that ends before one attempt does', () => {
		expect(found(timeout(1_000, { name: 'whole' }), retry())).toEqual(['timeout-shorter-than-attempt whole'])
		expect(found(timeout(999, { name: 'whole' }), retry())).toEqual(['timeout-shorter-than-attempt whole'])
	})

	test('timeout-shorter-than-schedule is told of one that ends before the last retry', () => {
		// Four attempts of a second, and waits of up to 1, 2 and 4 seconds.
		expect(found(timeout(10_999, { name: 'whole' }), retry())).toEqual([
			'timeout-shorter-than-schedule whole',
		])
		expect(found(timeout(11_000, { name: 'whole' }), retry())).toEqual([])
		expect(found(timeout(6_000), retry({ maxElapsedMs: 5_000 }))).toEqual([])
	})

	test('no-attempt-timeout is told of a timeout around retries without one inside', () => {
		expect(codes(pipeline(timeout(7_000), retry()))).toEqual(['no-attempt-timeout timeout'])
		expect(codes(pipeline(timeout(6_999), retry()))).toEqual([
			'no-attempt-timeout timeout',
			'timeout-shorter-than-schedule timeout',
		])
		expect(codes(pipeline(timeout(6_999), retry({ maxRetries: 0 })))).toEqual(['retry-count retry'])
	})

	test('timeout-never-fires is told of an inner timeout that is not the shorter one', () => {
		const nested = (ms: number) =>
			codes(pipeline(timeout(1_000), circuitBreaker(), timeout(ms, { name: 'inner' })))
		expect(nested(1_000)).toEqual(['timeout-never-fires inner'])
		expect(nested(999)).toEqual([])
	})

	test('wait-outlasts-timeout is told of a queue that holds a call for as long as the timeout around it lasts', () => {
		const queued = (queueTimeoutMs: number, maxQueue = 50) =>
			codes(pipeline(timeout(5_000), bulkhead({ queueTimeoutMs, maxQueue })))
		expect(queued(5_000)).toEqual(['wait-outlasts-timeout bulkhead'])
		expect(queued(4_999)).toEqual([])
		expect(queued(5_000, 0)).toEqual([])
		const paced = (maxWaitMs: number) => codes(pipeline(timeout(5_000), rateLimiter({ maxWaitMs })))
		expect(paced(5_000)).toEqual(['wait-outlasts-timeout rateLimiter'])
		expect(paced(4_999)).toEqual([])
	})
})

describe('order', () => {
	test('fallback-hides-failures is told of one inside of what waits for failures', () => {
		const hiding = fallback('instead')
		expect(found(retry(), hiding)).toEqual(['fallback-hides-failures fallback'])
		expect(found(circuitBreaker(), hiding)).toEqual(['fallback-hides-failures fallback'])
		expect(found(hedge({ budget: retryBudget() }), hiding)).toEqual(['fallback-hides-failures fallback'])
		expect(found(bulkhead(), hiding, circuitBreaker(), retry())).toEqual([])
	})

	test('a fallback that lets some errors pass may stand anywhere', () => {
		expect(found(retry(), fallback('instead', { when: (error) => error instanceof TypeError }))).toEqual([])
	})

	test('bulkhead-inside-retry is told where every attempt queues anew', () => {
		expect(found(retry(), bulkhead())).toEqual(['bulkhead-inside-retry bulkhead'])
		expect(found(retry(), bulkhead({ maxQueue: 0 }))).toEqual([])
		expect(found(retry(), retry({ nested: 'outermost' }), bulkhead())).toEqual([
			'bulkhead-inside-retry bulkhead',
		])
		expect(about(pipeline(retry(), bulkhead(), timeout(1)))).toContain('4 attempts may wait 30000 ms')
	})

	test('breaker-inside-retry is told where one call alone can open the circuit', () => {
		const inside = (maxRetries: number, failureThreshold: number) =>
			found(retry({ maxRetries }), circuitBreaker({ failureThreshold }))
		expect(inside(4, 5)).toEqual(['breaker-inside-retry circuitBreaker'])
		expect(inside(4, 6)).toEqual([])
		expect(found(circuitBreaker(), retry({ maxRetries: 5 }))).toEqual([])
	})

	test('open-circuit-retried is told of retries that all come while the circuit is still open', () => {
		const knocking = (options: RetryOptions) => found(retry(options), circuitBreaker())
		const everything = { shouldRetry: () => true }
		expect(knocking({ ...everything, delayFor: () => undefined })).toEqual(['open-circuit-retried retry'])
		expect(knocking({ ...everything, delayFor: () => 9_999 })).toEqual(['open-circuit-retried retry'])
		expect(knocking({ ...everything, delayFor: () => 10_000 })).toEqual([])
		const transient = { classify: () => ({ kind: 'transient', isKnown: true }) as const }
		expect(knocking({ ...transient, delayFor: () => 0 })).toEqual(['open-circuit-retried retry'])
	})

	test('the waits in between are those of the backoff where delayFor leaves it to that', () => {
		const knocking = { shouldRetry: () => true, delayFor: () => undefined, maxRetries: 4 }
		const breaker = (resetTimeoutMs: number) => circuitBreaker({ failureThreshold: 10, resetTimeoutMs })
		expect(found(retry(knocking), breaker(15_001))).toEqual(['open-circuit-retried retry'])
		expect(found(retry(knocking), breaker(15_000))).toEqual([])
	})

	test('a retry that leaves refusals alone, or waits as long as the circuit asks, is not told of', () => {
		const knocking = (options: RetryOptions) => found(retry(options), circuitBreaker())
		expect(knocking({ shouldRetry: () => true })).toEqual([])
		expect(knocking({ shouldRetry: isRetryable, delayFor: () => 0 })).toEqual([])
		expect(knocking({ delayFor: () => 0 })).toEqual([])
		const own = (error: unknown) => !(error instanceof CircuitOpenError)
		expect(knocking({ shouldRetry: own, delayFor: () => 0 })).toEqual([])
	})

	test('a hook that can not cope with an open circuit does not break lint', () => {
		const shouldRetry = () => {
			throw new Error('not mine')
		}
		expect(found(retry({ shouldRetry }), circuitBreaker())).toEqual([])
	})

	test('rate-limiter-outside-retry is told where retries are not counted', () => {
		expect(found(rateLimiter({ limit: 100 }), retry())).toEqual(['rate-limiter-outside-retry rateLimiter'])
		expect(about(pipeline(rateLimiter({ limit: 100 }), retry(), timeout(1)))).toContain('100 may become 400')
		expect(found(retry(), rateLimiter({ limit: 100 }))).toEqual([])
	})

	test('hedge-without-budget is told', () => {
		expect(found(hedge())).toEqual(['hedge-without-budget hedge'])
		expect(found(hedge({ budget: retryBudget() }))).toEqual([])
	})
})

describe('a report', () => {
	const policy = pipeline(
		{ name: 'payments' },
		retry({ name: 'again', jitterStrategy: 'none' }),
		timeout(100),
	)

	test('is plain data that can be written down and read back', () => {
		const report = lint(policy)
		expect(JSON.parse(JSON.stringify(report))).toEqual({ ...report })
		expect(report.findings[0]).toEqual({
			code: 'no-jitter',
			message: expect.stringContaining('come back together'),
			fix: expect.stringContaining("'full'"),
			policy: 'again',
		})
	})

	test('is readable as text', () => {
		expect(String(lint(policy))).toBe(
			[
				'payments: at most 4 calls in 7400 ms, 7400 ms in the mean, 4 times the load in an outage',
				"  no-jitter (again): callers that failed together come back together, after each of their waits; take jitterStrategy 'full', the default",
			].join('\n'),
		)
		expect(String(lint(fallback(() => 'instead')))).toMatch(
			/^fallback: at most 1 call in any time, any time in the mean/,
		)
	})

	test('follows the settings that a policy has now', () => {
		const changing = retry({ maxRetries: 9 })
		expect(found(changing)).toEqual(['retry-count retry'])
		changing.update({ maxRetries: 3 })
		expect(found(changing)).toEqual([])
	})

	test('leaves the policy as it was: one that a pipeline gave a clock keeps that clock', async () => {
		const clock = virtualRuntime()
		const breaker = circuitBreaker({ failureThreshold: 1, resetTimeoutMs: 1_000 })
		const whole = pipeline({ runtime: clock }, breaker)
		await whole.settle(() => Promise.reject(new Error('down')))
		lint(breaker)
		expect(breaker.stats.retryAfterMs).toBe(1_000)
		await clock.advance(400)
		expect(breaker.stats.retryAfterMs).toBe(600)
	})

	test('promises nothing about a policy that it does not know', () => {
		const strange = faults({ latencyMs: 1_000 })
		expect(lint(pipeline(strange, timeout(10)))).toMatchObject({ worstMs: Infinity, maxCalls: 1 })
		expect(lint(pipeline(timeout(10), strange))).toMatchObject({ worstMs: 10, findings: [] })
	})

	test('is refused for what is no policy, and with options that there are not', () => {
		expect(() => lint({} as Policy)).toThrow('lint, first: got [object Object]; takes a policy')
		expect(() => lint(retry(), { deadlineMs: -1 })).toThrow(
			/Invalid option "deadlineMs": expected .*, got -1/,
		)
		expect(() => lint(retry(), { deadlineMs: Infinity })).toThrow(
			/Invalid option "deadlineMs": expected .*, got Infinity/,
		)
		expect(() => lint(retry(), { deadline: 5 } as LintOptions)).toThrow(
			'Invalid option "deadline": expected nothing, got 5',
		)
	})
})
