import { describe, expect, test } from 'vitest'
import { hedge, keyed, lint, pipeline, retry, retryBudget, timeout, tokenBudget } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { steady } from '../../support/scenario.ts'
import { FAILS, HANGS, runCall } from './histories.ts'

describe('maxAttempts', () => {
	const three = () => retry({ ...steady, maxRetries: 2 })

	test('does not multiply for several retries in one pipeline', () => {
		expect(lint(pipeline(three(), three(), timeout(50))).maxAttempts).toBe(3)
		expect(lint(pipeline(three(), retry({ nested: 'outermost' }), timeout(50))).maxAttempts).toBe(3)
	})

	test('counts only the outermost retry if one of them has nested: outermost', async () => {
		const clock = virtualRuntime()
		const asking = retry({ ...steady, maxRetries: 4, nested: 'outermost' })
		for (const retries of [
			[asking, three()],
			[retry({ ...steady, maxRetries: 4 }), retry({ nested: 'outermost' }), three()],
		]) {
			const policy = pipeline({ runtime: clock }, ...retries, timeout(50))
			expect((await runCall(clock, policy, FAILS)).attempts).toBe(5)
			expect(lint(policy).maxAttempts).toBe(5)
		}
	})

	test('multiplies for a timeout between two retries, which the inner retry has not acted on', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, three(), timeout(350), three(), timeout(100))
		const { attempts } = await runCall(clock, policy, FAILS, FAILS, HANGS)
		expect(attempts).toBe(9)
		expect(lint(policy).maxAttempts).toBe(9)
	})

	test('multiplies for a retry around one that does not handle every failure', async () => {
		const clock = virtualRuntime()
		let failures = 0
		// Every third failure is left to the outer retry.
		const picky = retry({ ...steady, maxRetries: 2, shouldRetry: () => ++failures % 3 !== 0 })
		const policy = pipeline({ runtime: clock }, three(), picky, timeout(100))
		expect((await runCall(clock, policy, FAILS)).attempts).toBe(9)
		expect(lint(policy).maxAttempts).toBe(9)
	})

	test('covers a retry that retries timeouts and leaves other failures to the outermost', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			...[three(), three(), timeout(100), retry({ nested: 'outermost' })],
		)
		// The middle retry handles two timeouts. The failure passes the inner retry, so all later ones are left to the outermost.
		const { attempts } = await runCall(clock, policy, HANGS, HANGS, FAILS)
		expect(attempts).toBe(5)
		expect(lint(policy).maxAttempts).toBeGreaterThanOrEqual(attempts)
	})

	test('multiplies for a retry of errors that are permanent for the inner one', () => {
		const outer = retry({ ...steady, maxRetries: 2, shouldRetry: () => true })
		expect(lint(pipeline(outer, three(), timeout(100))).maxAttempts).toBe(9)
		expect(lint(pipeline(outer, hedge({ delayMs: 0 }), three(), timeout(100))).maxAttempts).toBe(18)
	})

	test('multiplies for hedges', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, three(), hedge({ delayMs: 10, maxHedges: 2 }), timeout(50))
		expect((await runCall(clock, policy, HANGS)).attempts).toBe(9)
		expect(lint(policy)).toMatchObject({ maxAttempts: 9, amplification: 9 })
	})

	test('does not count a hedge whose delay is longer than the timeout', () => {
		expect(lint(pipeline(hedge({ delayMs: 60 }), timeout(50))).maxAttempts).toBe(1)
		expect(lint(pipeline(hedge({ delayMs: 50 }), timeout(50))).maxAttempts).toBe(2)
	})

	test('counts every hedge that follows a percentile, because latencies may be near 0', () => {
		expect(lint(pipeline(hedge({ maxHedges: 3 }), timeout(1)))).toMatchObject({ maxAttempts: 4, worstMs: 2 })
	})

	test('maxAttempts of a keyed policy is the number for one key', () => {
		const perHost = keyed(
			({ key }) => key ?? '',
			() => pipeline(three(), timeout(50)),
		)
		expect(lint(perHost)).toMatchObject({ name: 'keyed', maxAttempts: 3, worstMs: 450 })
		expect(perHost.size).toBe(0)
	})
})

describe('amplification', () => {
	test('is maxAttempts without a budget and follows the ratio of a budget', () => {
		const budget = retryBudget({ maxRetryRatio: 0.2 })
		expect(lint(retry({ maxRetries: 3 })).amplification).toBe(4)
		expect(lint(retry({ maxRetries: 3, budget })).amplification).toBe(1.2)
		expect(lint(retry({ maxRetries: 0, budget })).amplification).toBe(1)
	})

	test('counts a budget once if a retry and a hedge share it', () => {
		const budget = retryBudget()
		const other = retryBudget({ maxRetryRatio: 0.5 })
		expect(lint(pipeline(retry({ budget }), hedge({ budget }))).amplification).toBeCloseTo(1.1, 9)
		expect(lint(pipeline(retry({ budget: other }), hedge({ budget }))).amplification).toBeCloseTo(1.65, 9)
		expect(lint(pipeline(retry({ budget }), hedge())).amplification).toBeCloseTo(2.2, 9)
	})

	test('is 1 with a budget that only successes refill', () => {
		expect(lint(retry({ budget: tokenBudget() })).amplification).toBe(1)
	})

	test('is maxAttempts with a custom budget', () => {
		const { recordRequest, recordRetry, recordOutcome } = retryBudget()
		const own = { recordRequest, recordRetry, recordOutcome, canRetry: () => true, available: () => 1 }
		expect(lint(retry({ maxRetries: 3, budget: own })).amplification).toBe(4)
	})

	test('matches the measured ratio in a long outage', () => {
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
