import { describe, expect, test } from 'vitest'
import { hedge, keyed, lint, pipeline, retry, retryBudget, timeout, tokenBudget } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { steady } from '../../scenario.ts'
import { FAILS, HANGS, take } from './histories.ts'

describe('the calls that lint counts', () => {
	const three = () => retry({ ...steady, maxRetries: 2 })

	test('retries within one pipeline do not multiply', () => {
		expect(lint(pipeline(three(), three(), timeout(50))).maxCalls).toBe(3)
		expect(lint(pipeline(three(), retry({ nested: 'outermost' }), timeout(50))).maxCalls).toBe(3)
	})

	test('only the outermost retries as soon as one of them asks for that', async () => {
		const clock = virtualRuntime()
		const asking = retry({ ...steady, maxRetries: 4, nested: 'outermost' })
		for (const retries of [
			[asking, three()],
			[retry({ ...steady, maxRetries: 4 }), retry({ nested: 'outermost' }), three()],
		]) {
			const policy = pipeline({ runtime: clock }, ...retries, timeout(50))
			expect((await take(clock, policy, FAILS)).calls).toBe(5)
			expect(lint(policy).maxCalls).toBe(5)
		}
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
