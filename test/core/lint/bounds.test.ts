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
	retryBudget,
	timeout,
	tokenBudget,
} from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { steady } from '../../scenario.ts'

/** What the work does when it is called for the n-th time; it hangs where there is no time. */
interface Deed {
	readonly takesMs: number | undefined
	readonly ok: boolean
}

interface Took {
	ms: number
	calls: number
}

/** Runs one call and tells what it took, once it has ended; one that hangs for good has none. */
function begin(clock: VirtualRuntime, policy: Policy, deeds: readonly Deed[]): Took {
	const took: Took = { ms: Number.NaN, calls: 0 }
	const from = clock.now()
	const end = () => {
		took.ms = clock.now() - from
	}
	const work = () => {
		const { takesMs, ok } = deeds[took.calls++ % deeds.length] ?? { takesMs: undefined, ok: false }
		if (takesMs === 0 && !ok) throw new Error('down')
		return new Promise<string>((resolve, reject) => {
			if (takesMs === undefined) return
			clock.setTimer(takesMs, () => (ok ? resolve('ok') : reject(new Error('down'))))
		})
	}
	policy.execute(work).then(end, end)
	return took
}

async function take(clock: VirtualRuntime, policy: Policy, ...deeds: readonly Deed[]): Promise<Took> {
	const took = begin(clock, policy, deeds)
	await clock.runUntilIdle()
	return took
}

const HANGS: Deed = { takesMs: undefined, ok: false }
const FAILS: Deed = { takesMs: 0, ok: false }

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

const retries = fc
	.tuple(
		backoff,
		fc.record({
			maxElapsedMs: fc.option(fc.integer({ min: 0, max: 500 }), { nil: undefined }),
			nested: fc.constantFrom('innermost' as const, 'outermost' as const),
			isEager: fc.boolean(),
			retryResult: fc.constantFrom(undefined, () => true),
		}),
	)
	.map(([settings, { isEager, ...more }]) => () => {
		// A refusal says when to come back, and lint does not know what others ask for; so the backoff is asked.
		const eager = isEager ? { shouldRetry: () => true, delayFor: () => undefined } : {}
		return retry({ ...settings, ...more, ...eager })
	})

const duration = fc.integer({ min: 1, max: 400 })

const anyPolicy: fc.Arbitrary<() => Policy> = fc.oneof(
	{ arbitrary: retries, weight: 4 },
	{ arbitrary: duration.map((ms) => () => timeout(ms)), weight: 3 },
	fc
		.record({ maxQueue: fc.integer({ min: 0, max: 2 }), queueTimeoutMs: duration })
		.map((queue) => () => bulkhead({ maxConcurrent: 1, ...queue })),
	fc
		.record({ failureThreshold: fc.integer({ min: 1, max: 9 }), resetTimeoutMs: duration })
		.map((options) => () => circuitBreaker(options)),
	fc
		.record({ delayMs: fc.integer({ min: 0, max: 100 }), maxHedges: fc.integer({ min: 1, max: 2 }) })
		.map((options) => () => hedge(options)),
	fc
		.record({ limit: fc.integer({ min: 1, max: 3 }), intervalMs: duration, maxWaitMs: duration })
		.map((options) => () => rateLimiter(options)),
	fc.constantFrom(
		() => fallback('instead'),
		() => fallback('instead', { when: () => false }),
		() => adaptiveThrottle(),
		() =>
			keyed(
				() => 'one',
				() => retry({ ...steady, maxRetries: 1 }),
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
		const policy = pipeline(timeout(5_000), retry(settings), timeout(100))
		expect(lint(policy)).toMatchObject({ worstMs: 2_300, maxCalls: 3 })
	})
})

describe('the calls that lint counts', () => {
	const three = () => retry({ ...steady, maxRetries: 2 })

	test('retries within one pipeline do not multiply', () => {
		expect(lint(pipeline(three(), three(), timeout(50))).maxCalls).toBe(3)
		expect(lint(pipeline(three(), retry({ nested: 'outermost' }), timeout(50))).maxCalls).toBe(3)
	})

	test('but for a timeout between them, which no inner retry has given up', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, three(), timeout(350), three(), timeout(100))
		const { calls } = await take(clock, policy, FAILS, FAILS, HANGS)
		expect(calls).toBe(9)
		expect(lint(policy).maxCalls).toBe(9)
	})

	test('hedges multiply', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, three(), hedge({ delayMs: 10, maxHedges: 2 }), timeout(50))
		expect((await take(clock, policy, HANGS)).calls).toBe(9)
		expect(lint(policy)).toMatchObject({ maxCalls: 9, amplification: 9 })
	})

	test('a hedge whose delay is longer than the timeout is never sent', () => {
		expect(lint(pipeline(hedge({ delayMs: 60 }), timeout(50))).maxCalls).toBe(1)
		expect(lint(pipeline(hedge({ delayMs: 50 }), timeout(50))).maxCalls).toBe(2)
	})

	test('a policy per key is looked at as one of its keys', () => {
		const perHost = keyed(
			({ key }) => key ?? '',
			() => pipeline(three(), timeout(50)),
		)
		expect(lint(perHost)).toMatchObject({ policy: 'keyed', maxCalls: 3, worstMs: 450 })
		expect(perHost.size).toBe(0)
	})
})

describe('amplification', () => {
	test('without a budget is the most calls, with one the share that it allows', () => {
		const budget = retryBudget({ maxRetryRatio: 0.2 })
		expect(lint(retry({ maxRetries: 3 })).amplification).toBe(4)
		expect(lint(retry({ maxRetries: 3, budget })).amplification).toBe(1.2)
		expect(lint(retry({ maxRetries: 0, budget })).amplification).toBe(1)
	})

	test('a retry and a hedge with one budget share what it allows', () => {
		const budget = retryBudget()
		const other = retryBudget({ maxRetryRatio: 0.5 })
		expect(lint(pipeline(retry({ budget }), hedge({ budget }))).amplification).toBeCloseTo(1.1, 9)
		expect(lint(pipeline(retry({ budget: other }), hedge({ budget }))).amplification).toBeCloseTo(1.65, 9)
		expect(lint(pipeline(retry({ budget }), hedge())).amplification).toBeCloseTo(2.2, 9)
	})

	test('a budget that only successes fill allows nothing in an outage', () => {
		expect(lint(retry({ budget: tokenBudget() })).amplification).toBe(1)
	})

	test('of a budget of one’s own nothing is known', () => {
		const { recordRequest, recordRetry, recordOutcome } = retryBudget()
		const own = { recordRequest, recordRetry, recordOutcome, canRetry: () => true, available: () => 1 }
		expect(lint(retry({ maxRetries: 3, budget: own })).amplification).toBe(4)
	})

	test('holds in a long outage', () => {
		const clock = virtualRuntime()
		const budget = retryBudget({ maxRetryRatio: 0.25, minRetriesPerSecond: 0, runtime: clock })
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 3, budget }))
		let calls = 0
		const runs = 2_000
		for (let i = 0; i < runs; i++) {
			clock.run(
				policy,
				(_, done) => {
					calls++
					done(new Error('down'))
				},
				() => {},
			)
			clock.runTimers(5)
		}
		clock.runTimers()
		expect(calls / runs).toBeCloseTo(lint(policy).amplification, 1)
	})
})
