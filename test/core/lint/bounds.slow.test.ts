/** Compares the figures of lint with what pipelines do in virtual time. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
	adaptiveThrottle,
	bulkhead,
	circuitBreaker,
	fallback,
	hedge,
	keyed,
	lint,
	type Policy,
	pipeline,
	type Runtime,
	rateLimiter,
	retry,
	timeout,
} from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { steady } from '../../support/scenario.ts'
import { ASKS, FAILS, HANGS, type Outcome, runCall, startCall } from './histories.ts'

/** A virtual clock whose random numbers are all the same. */
const withFixedRandom = (clock: VirtualRuntime, drawn: number): Runtime => ({
	now: () => clock.now(),
	wallNow: () => clock.wallNow(),
	setTimer: (ms, fn) => clock.setTimer(ms, fn),
	random: () => drawn,
})

const backoff = fc.record({
	baseDelayMs: fc.integer({ min: 0, max: 100 }),
	maxDelayMs: fc.integer({ min: 100, max: 300 }),
	maxRetries: fc.integer({ min: 0, max: 3 }),
	growth: fc.constantFrom('exponential' as const, 'linear' as const, 'fibonacci' as const, [40, 10]),
	jitterStrategy: fc.constantFrom(
		'none' as const,
		'full' as const,
		'equal' as const,
		'proportional' as const,
		'additive' as const,
		'decorrelated' as const,
	),
})

/** Creates a new policy for each run, and names it in counterexamples. */
const made = <O>(
	name: string,
	options: fc.Arbitrary<O>,
	make: (options: O) => Policy<unknown>,
): fc.Arbitrary<() => Policy<unknown>> =>
	options.map((chosen) =>
		Object.assign(() => make(chosen), { [fc.toStringMethod]: () => `${name}(${fc.stringify(chosen)})` }),
	)

const duration = fc.integer({ min: 1, max: 400 })

const retryOptions = fc.record({
	maxElapsedMs: fc.option(fc.integer({ min: 0, max: 500 }), { nil: undefined }),
	nested: fc.constantFrom('innermost' as const, 'outermost' as const),
	retriesRejections: fc.boolean(),
	retriesResults: fc.boolean(),
})

const anyPolicy: fc.Arbitrary<() => Policy<unknown>> = fc.oneof(
	{
		arbitrary: made(
			'retry',
			fc.tuple(backoff, retryOptions),
			([settings, { retriesRejections, retriesResults, ...more }]) => {
				// A rejection carries retryAfterMs, which lint does not know; so the backoff determines the delay.
				const eager = retriesRejections ? { shouldRetry: () => true, delayFor: () => undefined } : {}
				return retry({ ...settings, ...more, ...eager, retryResult: retriesResults ? () => true : undefined })
			},
		),
		weight: 4,
	},
	{ arbitrary: made('timeout', duration, (ms) => timeout(ms)), weight: 3 },
	made(
		'bulkhead',
		fc.record({ maxQueue: fc.integer({ min: 0, max: 2 }), queueTimeoutMs: duration }),
		(queue) => bulkhead({ maxConcurrent: 1, ...queue }),
	),
	made(
		'circuitBreaker',
		fc.record({ failureThreshold: fc.integer({ min: 1, max: 9 }), resetTimeoutMs: duration }),
		circuitBreaker,
	),
	made(
		'hedge',
		fc.record({ delayMs: fc.integer({ min: 0, max: 100 }), maxHedges: fc.integer({ min: 1, max: 2 }) }),
		hedge,
	),
	made(
		'rateLimiter',
		fc.record({ limit: fc.integer({ min: 1, max: 3 }), intervalMs: duration, maxWaitMs: duration }),
		rateLimiter,
	),
	made(
		'fallback',
		fc.constantFrom(undefined, () => false),
		(when) => fallback('instead', { when }),
	),
	made('throttle', fc.constant({}), () => adaptiveThrottle()),
	made('keyed', fc.constant({ ...steady, maxRetries: 1 }), (settings) =>
		keyed(
			() => 'one',
			() => retry(settings),
		),
	),
)

const outcome: fc.Arbitrary<Outcome> = fc.record({
	takesMs: fc.oneof(fc.constant(0), fc.constant(undefined), duration),
	ok: fc.boolean(),
})

describe('the bounds of lint', () => {
	test('no call takes longer or makes more attempts, for random pipelines and outcomes', async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.array(anyPolicy, { minLength: 1, maxLength: 4 }),
				fc.option(duration, { nil: undefined, freq: 9 }),
				fc.array(fc.array(outcome, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
				fc.integer(),
				async (makers, attemptMs, histories, seed) => {
					const clock = virtualRuntime({ seed })
					const attempt = attemptMs === undefined ? [] : [timeout(attemptMs)]
					const policy = pipeline({ runtime: clock }, ...makers.map((make) => make()), ...attempt)
					const { worstMs, maxAttempts } = lint(policy)
					const calls = histories.map((outcomes) => startCall(clock, policy, outcomes))
					await clock.runUntilIdle()
					for (const took of calls) {
						expect(Number.isNaN(took.ms) ? Infinity : took.ms).toBeLessThanOrEqual(worstMs + 1e-6)
						expect(took.attempts).toBeLessThanOrEqual(maxAttempts)
					}
				},
			),
			{ numRuns: 400 },
		)
	})

	const hanging = fc.record({
		settings: backoff,
		attemptMs: duration,
		totalMs: fc.option(fc.integer({ min: 1, max: 2_000 }), { nil: undefined }),
		hedges: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
	})

	test('an operation that always hangs takes exactly the worst case', async () => {
		await fc.assert(
			fc.asyncProperty(hanging, async ({ settings, attemptMs, totalMs, hedges }) => {
				const clock = virtualRuntime()
				// Not a divisor of an integer: of two events at the same time lint assumes the later.
				const hedged = hedges === undefined ? [] : [hedge({ delayMs: 33.37, maxHedges: hedges })]
				const policy = pipeline(
					{ runtime: withFixedRandom(clock, 1 - 2 ** -53) },
					...(totalMs === undefined ? [] : [timeout(totalMs)]),
					retry(settings),
					...hedged,
					timeout(attemptMs),
				)
				const { ms } = await runCall(clock, policy, HANGS)
				expect(ms).toBeCloseTo(lint(policy).worstMs, 6)
			}),
			{ numRuns: 300 },
		)
	})

	// The backoff alone would leave time for fewer attempts. A dependency may ask for a shorter wait.
	test('an operation that fails immediately with a short Retry-After makes exactly maxAttempts within a total timeout', async () => {
		await fc.assert(
			fc.asyncProperty(backoff, fc.integer({ min: 0, max: 600 }), async (settings, totalMs) => {
				const clock = virtualRuntime()
				const policy = pipeline(
					{ runtime: withFixedRandom(clock, 0) },
					timeout(totalMs + 0.37),
					retry(settings),
				)
				const { attempts } = await runCall(clock, policy, ASKS)
				expect(attempts).toBe(lint(policy).maxAttempts)
				expect((await runCall(clock, policy, FAILS)).attempts).toBeLessThanOrEqual(attempts)
			}),
			{ numRuns: 300 },
		)
	})

	test('the wait in a queue is part of the worst case', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			bulkhead({ maxConcurrent: 1, maxQueue: 2, queueTimeoutMs: 500 }),
			timeout(100),
		)
		startCall(clock, policy, [{ takesMs: 99.999, ok: true }])
		const { ms } = await runCall(clock, policy, HANGS)
		expect(ms).toBeCloseTo(199.999, 6)
		expect(lint(policy).worstMs).toBe(600)
	})

	test('the wait for a rate limiter is part of the worst case', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			rateLimiter({ limit: 1, intervalMs: 250, maxWaitMs: 250 }),
			timeout(100),
		)
		startCall(clock, policy, [HANGS])
		const { ms } = await runCall(clock, policy, HANGS)
		expect(ms).toBe(350)
		expect(lint(policy).worstMs).toBe(350)
	})

	test('the last attempt starts at maxElapsedMs at the latest', async () => {
		const clock = virtualRuntime()
		const limits = { ...steady, maxRetries: Infinity, maxElapsedMs: 1_000 }
		const policy = pipeline({ runtime: clock }, retry(limits), timeout(300))
		const fails = (takesMs: number): Outcome => ({ takesMs, ok: false })
		// Starts at 0, 300, 600 and, after a delay of 400, at 1,000.
		const { ms, attempts } = await runCall(clock, policy, fails(200), fails(100), fails(0), HANGS)
		expect(lint(policy).worstMs).toBe(1_300)
		expect({ ms, attempts }).toEqual({ ms: 1_300, attempts: 4 })
	})

	test('the attempts of a retry that only maxElapsedMs ends have no limit: each Retry-After may be short', async () => {
		const clock = virtualRuntime()
		const limits = { ...steady, maxRetries: Infinity, maxElapsedMs: 1_000 }
		const policy = pipeline({ runtime: withFixedRandom(clock, 0) }, retry(limits), timeout(300))
		const { attempts } = await runCall(clock, policy, { ...ASKS, asksMs: 1 })
		expect(attempts).toBeGreaterThan(900)
		expect(lint(policy).maxAttempts).toBe(Infinity)
	})

	test('the worst case of thousands of retries follows from the delays between them', () => {
		const limits = { baseDelayMs: 1, growth: 'constant', jitterStrategy: 'none' } as const
		const endless = retry({ ...limits, maxRetries: Infinity, maxElapsedMs: 10_000 })
		expect(lint(pipeline(endless, timeout(50)))).toMatchObject({
			worstMs: 10_050,
			meanMs: 10_050 - (10_000 % 51),
		})
		expect(lint(pipeline(endless, timeout(1))).meanMs).toBe(10_001)
		const spread = retry({ maxRetries: Infinity, maxElapsedMs: 10_000 })
		expect(lint(pipeline(spread, timeout(50)))).toMatchObject({ maxAttempts: Infinity, worstMs: 10_050 })
	})

	test.each([
		['full', { jitterStrategy: 'full' }],
		['equal', { jitterStrategy: 'equal' }],
		['decorrelated', { jitterStrategy: 'decorrelated' }],
	] as const)('with %s jitter, an operation that hangs takes meanMs on average', async (_, jitter) => {
		const clock = virtualRuntime({ seed: 7 })
		const settings = { baseDelayMs: 100, maxDelayMs: 1_000, maxRetries: 3, ...jitter }
		const policy = pipeline({ runtime: clock }, retry(settings), timeout(50))
		let sum = 0
		const runs = 4_000
		for (let i = 0; i < runs; i++) {
			const from = clock.now()
			clock.run(
				policy,
				() => {},
				() => {
					sum += clock.now() - from
				},
			)
			clock.runTimers()
		}
		const { meanMs } = lint(policy)
		expect(Math.abs(sum / runs - meanMs)).toBeLessThan(meanMs * 0.02)
	})

	test('a bulkhead without a queue adds no time', () => {
		expect(lint(pipeline(bulkhead({ maxQueue: 0 }), timeout(100))).worstMs).toBe(100)
	})

	test('a call waits for hedges in flight when the first request fails', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 30, maxHedges: 2 }), timeout(100))
		expect((await runCall(clock, policy, HANGS)).ms).toBe(160)
		expect(lint(policy)).toMatchObject({ worstMs: 160, meanMs: 160 })
	})

	const eager = () => retry({ ...steady, maxRetries: 2, shouldRetry: () => true, delayFor: () => undefined })

	test('retried rejections take time and make no attempts', async () => {
		const clock = virtualRuntime()
		const queue = bulkhead({ maxConcurrent: 1, maxQueue: 2, queueTimeoutMs: 50 })
		const policy = pipeline({ runtime: clock }, eager(), queue, fallback('instead'), timeout(100))
		// Ignores its timeout and holds the slot until just before the other call is rejected for the third time.
		startCall(clock, policy, [{ takesMs: 449, ok: true }])
		expect(await runCall(clock, policy, HANGS)).toEqual({ ms: 549, attempts: 1 })
		expect(lint(policy)).toMatchObject({ worstMs: 550, maxAttempts: 1 })
	})

	test('a breaker in shadow mode adds no rejections', () => {
		const beside = (shadow: boolean) =>
			pipeline(eager(), circuitBreaker({ shadow }), fallback('x'), timeout(100))
		expect(lint(beside(true)).worstMs).toBe(100)
		expect(lint(beside(false)).worstMs).toBe(400)
	})

	test('the worst case is Infinity without a timeout, and attempts are still counted', () => {
		expect(lint(retry({ maxRetries: 3 }))).toMatchObject({
			worstMs: Infinity,
			meanMs: Infinity,
			maxAttempts: 4,
		})
		expect(
			lint(
				pipeline(
					fallback(() => 'instead'),
					timeout(100),
				),
			),
		).toMatchObject({ worstMs: Infinity })
		expect(
			lint(
				pipeline(
					timeout(300),
					fallback(() => 'instead'),
					timeout(100),
				),
			),
		).toMatchObject({ worstMs: 300 })
	})

	test('a growth function counts with its cap in the duration and with 0 in the number of attempts', () => {
		const settings = { growth: () => 10, maxDelayMs: 1_000, maxRetries: 2, jitterStrategy: 'none' } as const
		expect(lint(pipeline(retry(settings), timeout(100))).worstMs).toBe(2_300)
		expect(lint(pipeline(timeout(500), retry(settings), timeout(100))).maxAttempts).toBe(3)
	})
})
