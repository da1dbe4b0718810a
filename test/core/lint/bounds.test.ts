/** The figures of lint are held against what pipelines really do in virtual time. */
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
import { steady } from '../../scenario.ts'
import { begin, type Deed, FAILS, HANGS, take } from './histories.ts'

/** Chance always draws the same; time is the virtual clock's. */
const loaded = (clock: VirtualRuntime, drawn: number): Runtime => ({
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

/** Makes a policy anew for each run, and tells in a counterexample what it is. */
const made = <O>(
	name: string,
	options: fc.Arbitrary<O>,
	make: (options: O) => Policy,
): fc.Arbitrary<() => Policy> =>
	options.map((chosen) =>
		Object.assign(() => make(chosen), { [fc.toStringMethod]: () => `${name}(${fc.stringify(chosen)})` }),
	)

const duration = fc.integer({ min: 1, max: 400 })

const habits = fc.record({
	maxElapsedMs: fc.option(fc.integer({ min: 0, max: 500 }), { nil: undefined }),
	nested: fc.constantFrom('innermost' as const, 'outermost' as const),
	isEager: fc.boolean(),
	isPicky: fc.boolean(),
})

const anyPolicy: fc.Arbitrary<() => Policy> = fc.oneof(
	{
		arbitrary: made('retry', fc.tuple(backoff, habits), ([settings, { isEager, isPicky, ...more }]) => {
			// A refusal says when to come back, and lint does not know what others ask for; so the backoff is asked.
			const eager = isEager ? { shouldRetry: () => true, delayFor: () => undefined } : {}
			return retry({ ...settings, ...more, ...eager, retryResult: isPicky ? () => true : undefined })
		}),
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

const deed: fc.Arbitrary<Deed> = fc.record({
	takesMs: fc.oneof(fc.constant(0), fc.constant(undefined), duration),
	ok: fc.boolean(),
})

describe('the bounds of lint', () => {
	test('no call takes longer or calls more often, whatever the pipeline and whatever happens', async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.array(anyPolicy, { minLength: 1, maxLength: 4 }),
				fc.option(duration, { nil: undefined, freq: 9 }),
				fc.array(fc.array(deed, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
				fc.integer(),
				async (makers, attemptMs, histories, seed) => {
					const clock = virtualRuntime({ seed })
					const attempt = attemptMs === undefined ? [] : [timeout(attemptMs)]
					const policy = pipeline({ runtime: clock }, ...makers.map((make) => make()), ...attempt)
					const { worstMs, maxCalls } = lint(policy)
					const calls = histories.map((deeds) => begin(clock, policy, deeds))
					await clock.runUntilIdle()
					for (const took of calls) {
						expect(Number.isNaN(took.ms) ? Infinity : took.ms).toBeLessThanOrEqual(worstMs + 1e-6)
						expect(took.calls).toBeLessThanOrEqual(maxCalls)
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

	test('work that always hangs takes the longest time to the millisecond', async () => {
		await fc.assert(
			fc.asyncProperty(hanging, async ({ settings, attemptMs, totalMs, hedges }) => {
				const clock = virtualRuntime()
				// Never a divisor of a whole number: of two things at the same moment lint expects the later.
				const hedged = hedges === undefined ? [] : [hedge({ delayMs: 33.37, maxHedges: hedges })]
				const policy = pipeline(
					{ runtime: loaded(clock, 1 - 2 ** -53) },
					...(totalMs === undefined ? [] : [timeout(totalMs)]),
					retry(settings),
					...hedged,
					timeout(attemptMs),
				)
				const { ms } = await take(clock, policy, HANGS)
				expect(ms).toBeCloseTo(lint(policy).worstMs, 6)
			}),
			{ numRuns: 300 },
		)
	})

	test('work that always fails at once is called as often as lint says, time permitting', async () => {
		await fc.assert(
			fc.asyncProperty(backoff, fc.integer({ min: 0, max: 600 }), async (settings, totalMs) => {
				const clock = virtualRuntime()
				const policy = pipeline({ runtime: loaded(clock, 0) }, timeout(totalMs + 0.37), retry(settings))
				const { calls } = await take(clock, policy, FAILS)
				expect(calls).toBe(lint(policy).maxCalls)
			}),
			{ numRuns: 300 },
		)
	})

	test('the wait in a queue is part of the longest time', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			bulkhead({ maxConcurrent: 1, maxQueue: 2, queueTimeoutMs: 500 }),
			timeout(100),
		)
		begin(clock, policy, [{ takesMs: 99.999, ok: true }])
		const { ms } = await take(clock, policy, HANGS)
		expect(ms).toBeCloseTo(199.999, 6)
		expect(lint(policy).worstMs).toBe(600)
	})

	test('so is the wait for a rate limiter', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			rateLimiter({ limit: 1, intervalMs: 250, maxWaitMs: 250 }),
			timeout(100),
		)
		begin(clock, policy, [HANGS])
		const { ms } = await take(clock, policy, HANGS)
		expect(ms).toBe(350)
		expect(lint(policy).worstMs).toBe(350)
	})

	test('no attempt begins after maxElapsedMs, and the last may begin right then', async () => {
		const clock = virtualRuntime()
		const limits = { ...steady, maxRetries: Infinity, maxElapsedMs: 1_000 }
		const policy = pipeline({ runtime: clock }, retry(limits), timeout(300))
		const fails = (takesMs: number): Deed => ({ takesMs, ok: false })
		// Begins at 0, 300, 600 and, after a wait of 400, at 1,000.
		const { ms, calls } = await take(clock, policy, fails(200), fails(100), fails(0), HANGS)
		expect(lint(policy)).toMatchObject({ worstMs: 1_300, maxCalls: 4 })
		expect({ ms, calls }).toEqual({ ms: 1_300, calls: 4 })
	})

	test('thousands of retries are counted by the waits between them', () => {
		const limits = { baseDelayMs: 1, growth: 'constant', jitterStrategy: 'none' } as const
		const endless = retry({ ...limits, maxRetries: Infinity, maxElapsedMs: 10_000 })
		expect(lint(pipeline(endless, timeout(50)))).toMatchObject({
			maxCalls: 10_001,
			worstMs: 10_050,
			meanMs: 10_050 - (10_000 % 51),
		})
		expect(lint(pipeline(endless, timeout(1))).meanMs).toBe(10_001)
		const spread = retry({ maxRetries: Infinity, maxElapsedMs: 10_000 })
		expect(lint(pipeline(spread, timeout(50)))).toMatchObject({ maxCalls: Infinity, worstMs: 10_050 })
	})

	test.each([
		['full', { jitterStrategy: 'full' }],
		['equal', { jitterStrategy: 'equal' }],
		['decorrelated', { jitterStrategy: 'decorrelated' }],
	] as const)('with %s jitter, work that hangs takes the mean time in the mean', async (_, jitter) => {
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

	test('a full queue costs no time where there is none', () => {
		expect(lint(pipeline(bulkhead({ maxQueue: 0 }), timeout(100))).worstMs).toBe(100)
	})

	test('hedges that are under way when the first request fails are waited for', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 30, maxHedges: 2 }), timeout(100))
		expect((await take(clock, policy, HANGS)).ms).toBe(160)
		expect(lint(policy)).toMatchObject({ worstMs: 160, meanMs: 160 })
	})

	const eager = () => retry({ ...steady, maxRetries: 2, shouldRetry: () => true, delayFor: () => undefined })

	test('refusals that are retried take time, too, and make no calls', async () => {
		const clock = virtualRuntime()
		const queue = bulkhead({ maxConcurrent: 1, maxQueue: 2, queueTimeoutMs: 50 })
		const policy = pipeline({ runtime: clock }, eager(), queue, fallback('instead'), timeout(100))
		// Ignores its timeout and keeps the slot, until just before the other call is refused for the third time.
		begin(clock, policy, [{ takesMs: 449, ok: true }])
		expect(await take(clock, policy, HANGS)).toEqual({ ms: 549, calls: 1 })
		expect(lint(policy)).toMatchObject({ worstMs: 550, maxCalls: 1 })
	})

	test('a breaker in shadow mode refuses nothing', () => {
		const beside = (shadow: boolean) =>
			pipeline(eager(), circuitBreaker({ shadow }), fallback('x'), timeout(100))
		expect(lint(beside(true)).worstMs).toBe(100)
		expect(lint(beside(false)).worstMs).toBe(400)
	})

	test('where nothing bounds the work the time is Infinity, and the calls are still counted', () => {
		expect(lint(retry({ maxRetries: 3 }))).toMatchObject({ worstMs: Infinity, meanMs: Infinity, maxCalls: 4 })
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

	test('a growth function is taken to wait as long as its cap lets it, and not at all', () => {
		const settings = { growth: () => 10, maxDelayMs: 1_000, maxRetries: 2, jitterStrategy: 'none' } as const
		expect(lint(pipeline(retry(settings), timeout(100))).worstMs).toBe(2_300)
		expect(lint(pipeline(timeout(500), retry(settings), timeout(100))).maxCalls).toBe(3)
	})
})
