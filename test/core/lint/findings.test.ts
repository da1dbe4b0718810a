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

/** Returns each finding as `code policy`, for the policies around an operation with a timeout of one second. */
const found = (...policies: readonly Policy<unknown>[]): readonly string[] =>
	codes(pipeline(...policies, timeout(1_000)))

const codes = (policy: Policy<unknown>, options?: LintOptions): readonly string[] =>
	lint(policy, options).findings.map(({ code, name }) => `${code} ${name}`)

const messages = (policy: Policy<unknown>, options?: LintOptions): string =>
	lint(policy, options)
		.findings.map(({ message }) => message)
		.join('\n')

describe('no findings', () => {
	test('the pipeline that the documentation recommends has no findings', () => {
		const payments = pipeline(
			bulkhead({ maxConcurrent: 10, maxQueue: 50 }),
			circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 30_000 }),
			retry(presets.externalApi),
			timeout(5_000),
		)
		expect(lint(payments, { deadlineMs: 57_000 })).toMatchObject({
			worstMs: 30_000 + 4 * 5_000 + 7_000,
			meanMs: 4 * 5_000 + 3_500,
			maxAttempts: 4,
			amplification: 4,
			findings: [],
		})
	})

	test.each(Object.entries(presets))('the preset %s with a timeout has no findings', (_, preset) => {
		expect(found(retry(preset))).toEqual([])
		expect(found(bulkhead(), circuitBreaker(), retry({ ...preset, budget: retryBudget() }))).toEqual([])
	})

	test('a pipeline of all policies in the order of the guide has no findings', () => {
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

	test('policies with default options have no findings', () => {
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

	test('a preset with another usual number of retries has no findings', () => {
		expect(found(retry({ ...presets.externalApi, maxRetries: 5 }))).toEqual([])
		expect(found(retry({ ...presets.batch, maxRetries: 4 }))).toEqual([])
	})
})

describe('settings outside the usual range', () => {
	const inRetry = (options: RetryOptions) => found(retry(options))
	const inBreaker = (options: CircuitBreakerOptions) => found(circuitBreaker(options))

	test.each([
		['base-delay', 'baseDelayMs', [99, 1_001], [100, 1_000]],
		['max-delay', 'maxDelayMs', [29_999, 60_001], [30_000, 60_000]],
		['retry-count', 'maxRetries', [1, 6], [0, 2, 5]],
	])('reports %s beyond its bounds, not at them', (code, option, beyond, within) => {
		for (const value of beyond) expect(inRetry({ [option]: value })).toEqual([`${code} retry`])
		for (const value of within) expect(inRetry({ [option]: value })).toEqual([])
	})

	test('ignores base and cap if the delays are a list', () => {
		expect(inRetry({ growth: [10, 20, 40], baseDelayMs: 1, maxDelayMs: 40 })).toEqual([])
		expect(inRetry({ growth: [10], jitterStrategy: 'decorrelated', baseDelayMs: 99 })).toEqual([
			'base-delay retry',
		])
	})

	test('accepts the retry count of a preset only with the delays of that preset', () => {
		expect(inRetry({ ...presets.batch, maxRetries: 11 })).toEqual(['retry-count retry'])
		expect(inRetry({ ...presets.batch, maxDelayMs: 200_000 })).toEqual([
			'base-delay retry',
			'max-delay retry',
			'retry-count retry',
		])
		expect(inRetry({ maxRetries: 10 })).toEqual(['retry-count retry'])
	})

	test('reports jitter-factor above 0.5, only with proportional jitter', () => {
		const proportional = { jitterStrategy: 'proportional' } as const
		expect(inRetry({ ...proportional, jitterFactor: 0.51 })).toEqual(['jitter-factor retry'])
		expect(inRetry({ ...proportional, jitterFactor: 0.5 })).toEqual([])
		expect(inRetry({ jitterFactor: 0.9 })).toEqual(['jitter-factor retry'])
		expect(inRetry({ jitterStrategy: 'full', jitterFactor: 0.9 })).toEqual(['unused-option retry'])
	})

	test('reports no-jitter for strategy none and for a jitter range of 0', () => {
		expect(inRetry({ jitterStrategy: 'none' })).toEqual(['no-jitter retry'])
		expect(inRetry({ jitterStrategy: 'proportional', jitterFactor: 0 })).toEqual(['no-jitter retry'])
		expect(inRetry({ jitterStrategy: 'additive', jitterRangeMs: 0 })).toEqual(['no-jitter retry'])
		expect(inRetry({ jitterStrategy: 'additive', jitterRangeMs: 1 })).toEqual([])
		expect(inRetry({ jitterFactor: 0 })).toEqual(['no-jitter retry'])
		expect(inRetry({ jitterStrategy: 'full', jitterFactor: 0, jitterRangeMs: 0 })).toEqual([
			'unused-option retry',
			'unused-option retry',
		])
	})

	test.each([
		['failure-threshold', 'failureThreshold', [4, 11], [5, 10]],
		['reset-timeout', 'resetTimeoutMs', [14_999, 60_001], [15_000, 60_000]],
		['half-open-probes', 'halfOpenMaxConcurrent', [4], [1, 3]],
	])('reports %s beyond its bounds, not at them', (code, option, beyond, within) => {
		for (const value of beyond) expect(inBreaker({ [option]: value })).toEqual([`${code} circuitBreaker`])
		for (const value of within) expect(inBreaker({ [option]: value })).toEqual([])
	})

	test('accepts a short open time that grows, as the breakers of the package have it', () => {
		const resetBackoff = { initialMs: 500 }
		expect(inBreaker({ resetTimeoutMs: 1_000, resetBackoff })).toEqual([])
		expect(inBreaker({ resetTimeoutMs: 999, resetBackoff })).toEqual(['reset-timeout circuitBreaker'])
	})

	test('ignores the failure threshold of a breaker that uses rates', () => {
		expect(inBreaker({ failureThreshold: Infinity, errorRateThreshold: 0.5 })).toEqual([])
	})

	test('reports queue-size below twice and above five times the concurrency, but not without a queue', () => {
		const withQueue = (maxQueue: number) => found(bulkhead({ maxConcurrent: 10, maxQueue }))
		for (const maxQueue of [1, 19, 51, Infinity]) expect(withQueue(maxQueue)).toEqual(['queue-size bulkhead'])
		for (const maxQueue of [0, 20, 50]) expect(withQueue(maxQueue)).toEqual([])
		expect(found(adaptiveBulkhead({ maxQueue: 5_000 }))).toEqual([])
	})

	test('accepts the default queue beside any concurrency, because the user did not choose it', () => {
		for (const maxConcurrent of [1, 9, 26, 500]) expect(found(bulkhead({ maxConcurrent }))).toEqual([])
	})

	test('accepts maxRetries 0 beside the delays of a preset, because that turns the retry off', () => {
		expect(inRetry({ ...presets.batch, maxRetries: 0 })).toEqual([])
	})
})

test('a fix suggests a preset only for a retry, and the strategy that an unused option belongs to', () => {
	const fixes = (policy: Policy<unknown>) =>
		lint(pipeline(policy, timeout(1_000))).findings.map(({ fix }) => fix)
	expect(fixes(retry({ maxRetries: 9 }))).toEqual([expect.stringContaining('preset')])
	expect(fixes(circuitBreaker({ failureThreshold: 1 }))).toEqual([expect.not.stringContaining('preset')])
	expect(fixes(retry({ jitterStrategy: 'full', jitterFactor: 1, jitterRangeMs: 1 }))).toEqual([
		expect.stringContaining("'proportional'"),
		expect.stringContaining("'additive'"),
	])
})

describe('time', () => {
	test('reports no-timeout if nothing ends an operation that hangs', () => {
		expect(codes(retry())).toEqual(['no-timeout retry'])
		expect(codes(pipeline({ name: 'payments' }, retry()))).toEqual(['no-timeout payments'])
		expect(codes(timeout(1_000))).toEqual([])
	})

	test('reports exceeds-deadline if the worst case is longer than the deadline', () => {
		const policy = pipeline({ name: 'payments' }, retry(presets.interactive), timeout(1_000))
		expect(codes(policy, { deadlineMs: 4_839 })).toEqual(['exceeds-deadline payments'])
		expect(messages(policy, { deadlineMs: 4_839 })).toContain('4840 ms, but its caller waits 4839 ms')
		expect(codes(policy, { deadlineMs: 4_840 })).toEqual([])
		expect(codes(policy)).toEqual([])
	})

	test('reports timeout-shorter-than-attempt for a total timeout that ends before one attempt', () => {
		expect(found(timeout(1_000, { name: 'whole' }), retry())).toEqual(['timeout-shorter-than-attempt whole'])
		expect(found(timeout(999, { name: 'whole' }), retry())).toEqual(['timeout-shorter-than-attempt whole'])
	})

	test('reports timeout-shorter-than-schedule for a total timeout that ends before the last retry', () => {
		// Four attempts of one second each, and delays of up to 1, 2 and 4 seconds.
		expect(found(timeout(10_999, { name: 'whole' }), retry())).toEqual([
			'timeout-shorter-than-schedule whole',
		])
		expect(found(timeout(11_000, { name: 'whole' }), retry())).toEqual([])
		expect(found(timeout(6_000), retry({ maxElapsedMs: 5_000 }))).toEqual([])
	})

	test('reports no-attempt-timeout for a timeout around a retry without one inside', () => {
		expect(codes(pipeline(timeout(7_000), retry()))).toEqual(['no-attempt-timeout timeout'])
		expect(codes(pipeline(timeout(6_999), retry()))).toEqual([
			'no-attempt-timeout timeout',
			'timeout-shorter-than-schedule timeout',
		])
		expect(codes(pipeline(timeout(6_999), retry({ maxRetries: 0 })))).toEqual([])
	})

	test('reports timeout-never-fires for an inner timeout that is not shorter', () => {
		const nested = (ms: number) =>
			codes(pipeline(timeout(1_000), circuitBreaker(), timeout(ms, { name: 'inner' })))
		expect(nested(1_000)).toEqual(['timeout-never-fires inner'])
		expect(nested(999)).toEqual([])
	})

	test('reports wait-outlasts-timeout for a queue that can take the whole timeout around it', () => {
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
	test('reports fallback-hides-failures for a fallback inside a retry, breaker or hedge', () => {
		const hiding = fallback('instead')
		expect(found(retry(), hiding)).toEqual(['fallback-hides-failures fallback'])
		expect(found(circuitBreaker(), hiding)).toEqual(['fallback-hides-failures fallback'])
		expect(found(hedge({ budget: retryBudget() }), hiding)).toEqual(['fallback-hides-failures fallback'])
		expect(found(bulkhead(), hiding, circuitBreaker(), retry())).toEqual([])
	})

	test('accepts a conditional fallback anywhere', () => {
		expect(found(retry(), fallback('instead', { when: (error) => error instanceof TypeError }))).toEqual([])
	})

	test('reports bulkhead-inside-retry if every attempt queues again', () => {
		expect(found(retry(), bulkhead())).toEqual(['bulkhead-inside-retry bulkhead'])
		expect(found(retry(), bulkhead({ maxQueue: 0 }))).toEqual([])
		expect(found(retry(), retry({ nested: 'outermost' }), bulkhead())).toEqual([
			'bulkhead-inside-retry bulkhead',
		])
		expect(messages(pipeline(retry(), bulkhead(), timeout(1)))).toContain('4 attempts can wait 30000 ms')
	})

	test('reports breaker-inside-retry if one call can open the circuit', () => {
		const inside = (maxRetries: number, failureThreshold: number) =>
			found(retry({ maxRetries }), circuitBreaker({ failureThreshold }))
		expect(inside(4, 5)).toEqual(['breaker-inside-retry circuitBreaker'])
		expect(inside(4, 6)).toEqual([])
		expect(found(circuitBreaker(), retry({ maxRetries: 5 }))).toEqual([])
	})

	test('reports open-circuit-retried if all retries run while the circuit is open', () => {
		const aroundBreaker = (options: RetryOptions) => found(retry(options), circuitBreaker())
		const everything = { shouldRetry: () => true }
		expect(aroundBreaker({ ...everything, delayFor: () => undefined })).toEqual([
			'open-circuit-retried retry',
		])
		expect(aroundBreaker({ ...everything, delayFor: () => 9_999 })).toEqual(['open-circuit-retried retry'])
		expect(aroundBreaker({ ...everything, delayFor: () => 10_000 })).toEqual([])
		const transient = { classify: () => ({ kind: 'transient', isKnown: true }) as const }
		expect(aroundBreaker({ ...transient, delayFor: () => 0 })).toEqual(['open-circuit-retried retry'])
	})

	test('compares retries of rejections with the first open time if it grows', () => {
		const aroundBreaker = (delayMs: number) =>
			found(
				retry({ shouldRetry: () => true, delayFor: () => delayMs, maxRetries: 3 }),
				circuitBreaker({ resetBackoff: { initialMs: 3_000 } }),
			)
		expect(aroundBreaker(999)).toEqual(['open-circuit-retried retry'])
		expect(aroundBreaker(1_000)).toEqual([])
	})

	test('uses the backoff delays if delayFor returns undefined', () => {
		const options = { shouldRetry: () => true, delayFor: () => undefined, maxRetries: 4 }
		const breaker = (resetTimeoutMs: number) => circuitBreaker({ failureThreshold: 10, resetTimeoutMs })
		expect(found(retry(options), breaker(15_001))).toEqual(['open-circuit-retried retry'])
		expect(found(retry(options), breaker(15_000))).toEqual([])
	})

	test('accepts a retry that does not retry rejections or waits as long as the circuit asks', () => {
		const aroundBreaker = (options: RetryOptions) => found(retry(options), circuitBreaker())
		expect(aroundBreaker({ shouldRetry: () => true })).toEqual([])
		expect(aroundBreaker({ shouldRetry: isRetryable, delayFor: () => 0 })).toEqual([])
		expect(aroundBreaker({ delayFor: () => 0 })).toEqual([])
		const own = (error: unknown) => !(error instanceof CircuitOpenError)
		expect(aroundBreaker({ shouldRetry: own, delayFor: () => 0 })).toEqual([])
	})

	test('ignores a shouldRetry that throws for CircuitOpenError', () => {
		const shouldRetry = () => {
			throw new Error('unexpected error')
		}
		expect(found(retry({ shouldRetry }), circuitBreaker())).toEqual([])
	})

	test('reports rate-limiter-outside-retry if retries do not count', () => {
		expect(found(rateLimiter({ limit: 100 }), retry())).toEqual(['rate-limiter-outside-retry rateLimiter'])
		expect(messages(pipeline(rateLimiter({ limit: 100 }), retry(), timeout(1)))).toContain(
			'100 calls can become 400 requests',
		)
		expect(found(retry(), rateLimiter({ limit: 100 }))).toEqual([])
	})

	test('reports hedge-without-budget', () => {
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

	test('survives JSON.stringify and JSON.parse', () => {
		const report = lint(policy)
		expect(JSON.parse(JSON.stringify(report))).toEqual({ ...report })
		expect(report.findings[0]).toEqual({
			code: 'no-jitter',
			message: expect.stringContaining('retry together'),
			fix: expect.stringContaining("'full'"),
			name: 'again',
		})
	})

	test('converts to a readable text', () => {
		expect(String(lint(policy))).toBe(
			[
				'payments: at most 4 attempts, worst case 7400 ms, mean 7400 ms, amplification 4',
				"  no-jitter (again): Without jitter, clients that fail together retry together. Use jitterStrategy 'full', the default.",
			].join('\n'),
		)
		expect(String(lint(fallback(() => 'instead')))).toMatch(
			/^fallback: at most 1 attempt, worst case unlimited, mean unlimited, amplification 1\n/,
		)
	})

	test('uses the current settings of a policy after update', () => {
		const changing = retry({ maxRetries: 9 })
		expect(found(changing)).toEqual(['retry-count retry'])
		changing.update({ maxRetries: 3 })
		expect(found(changing)).toEqual([])
	})

	test('does not change the policy: it keeps the clock of its pipeline', async () => {
		const clock = virtualRuntime()
		const breaker = circuitBreaker({ failureThreshold: 1, resetTimeoutMs: 1_000 })
		const whole = pipeline({ runtime: clock }, breaker)
		await whole.settle(() => Promise.reject(new Error('down')))
		lint(breaker)
		expect(breaker.stats.retryAfterMs).toBe(1_000)
		await clock.advance(400)
		expect(breaker.stats.retryAfterMs).toBe(600)
	})

	test('assumes no bound for an unknown policy', () => {
		const unknown = faults({ latencyMs: 1_000 })
		expect(lint(pipeline(unknown, timeout(10)))).toMatchObject({ worstMs: Infinity, maxAttempts: 1 })
		expect(lint(pipeline(timeout(10), unknown))).toMatchObject({ worstMs: 10, findings: [] })
	})

	test('rejects a value that is not a policy, and invalid or unknown options', () => {
		expect(() => lint({} as Policy)).toThrow('expected a policy or a client, got [object Object]')
		expect(() => lint(retry(), { deadlineMs: -1 })).toThrow(
			/Invalid option "deadlineMs": expected .*, got -1/,
		)
		expect(() => lint(retry(), { deadlineMs: Infinity })).toThrow(
			/Invalid option "deadlineMs": expected .*, got Infinity/,
		)
		expect(() => lint(retry(), { deadline: 5 } as LintOptions)).toThrow(
			'Unknown option "deadline" for lint. Did you mean "deadlineMs"?',
		)
	})
})
