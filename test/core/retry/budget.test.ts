import { describe, expect, test } from 'vitest'
import {
	type Budget,
	explain,
	HttpError,
	permanent,
	pipeline,
	type RetryOptions,
	retry,
	retryBudget,
	retryWithBackoff,
	timeout,
	tokenBudget,
	type YaokiEvent,
} from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { QuotaBudget } from '../../../src/sim/scenario/quota-budget.ts'
import { dead, exceptCalls, failing, settled, steady } from '../../support/scenario.ts'

const down = new Error('down')
const never = () => new Promise<never>(() => {})

/** How many calls reach a dead service when so many callers retry within a budget. */
async function storm(clock: VirtualRuntime, budget: Budget, callers: number, options: RetryOptions = {}) {
	const work = dead(clock)
	const policy = retry({ ...steady, maxRetries: 3, ...options, budget, runtime: clock })
	await settled(clock, Promise.allSettled(Array.from({ length: callers }, () => policy.execute(work))))
	return work.startedAt.length
}

describe('a retry with a retry budget', () => {
	test.each([
		[0.1, 100, 10],
		[0.6, 10, 6],
		[0.2, 10, 2],
		[0, 100, 0],
		[0.3, 1, 0],
	])('makes with a ratio of %s for %i calls exactly %i retries', async (maxRetryRatio, callers, retries) => {
		const clock = virtualRuntime()
		const budget = retryBudget({ maxRetryRatio, minRetriesPerSecond: 0, runtime: clock })
		expect(await storm(clock, budget, callers)).toBe(callers + retries)
	})

	test('makes as many as the floor allows if that is more, not the sum of both', async () => {
		const clock = virtualRuntime()
		const budget = retryBudget({ maxRetryRatio: 0.5, minRetriesPerSecond: 2, runtime: clock })
		// The floor is 20 in the window of 10 seconds, the ratio gives 5, then 50.
		expect(await storm(clock, budget, 10)).toBe(10 + 20)
		await clock.advance(20_000)
		expect(await storm(clock, budget, 100)).toBe(100 + 50)
	})

	test('retries again when earlier retries have left the window, not because of earlier calls', async () => {
		const clock = virtualRuntime()
		const budget = retryBudget({ maxRetryRatio: 0.1, minRetriesPerSecond: 0, runtime: clock })
		const policy = retry({ budget, runtime: clock })
		await Promise.all(Array.from({ length: 100 }, () => policy.execute(() => 'ok')))
		expect(budget.stats).toEqual({ requests: 100, retries: 0, available: 10 })
		await clock.advance(10_000)
		expect(budget.available()).toBe(0)
		expect(await storm(clock, budget, 10)).toBe(11)
	})

	test('ends with the last error itself, and reports the budget as the reason', async () => {
		const clock = virtualRuntime()
		const budget = retryBudget({ maxRetryRatio: 0, minRetriesPerSecond: 0.1, runtime: clock })
		const policy = retry({ ...steady, budget, runtime: clock })
		const events: YaokiEvent[] = []
		policy.subscribe(exceptCalls((event) => events.push(event)))
		const result = await settled(clock, policy.execute(dead(clock, down)))
		expect(result).toEqual({ ok: false, error: down })
		expect(explain(down)).toMatchObject({
			stop: 'budget',
			attempts: [{ delayMs: 100 }, { outcome: 'transient' }],
		})
		expect(events).toMatchObject([
			{ type: 'retry_attempt', attempt: 1 },
			{ type: 'retry_failure', attempts: 2, stop: 'budget', errorMessage: 'down' },
		])
	})

	test('charges nothing for calls that are not retried for another reason', async () => {
		const clock = virtualRuntime()
		const budget = retryBudget({ runtime: clock })
		const policy = retry({ ...steady, maxRetries: 1, maxElapsedMs: 50, budget, runtime: clock })
		await settled(
			clock,
			policy.execute(() => Promise.reject(permanent(new Error('no')))),
		)
		await settled(clock, policy.execute(dead(clock)))
		expect(budget.stats).toMatchObject({ requests: 2, retries: 0 })
	})

	test('is checked for an unwanted result as for a failure', async () => {
		const clock = virtualRuntime()
		const budget = retryBudget({ maxRetryRatio: 0, minRetriesPerSecond: 0.1, runtime: clock })
		const policy = retry({ ...steady, retryResult: () => true, budget, runtime: clock })
		let calls = 0
		expect(
			await settled(
				clock,
				policy.execute(() => ++calls),
			),
		).toEqual({ ok: true, value: 2 })
	})

	test('can be shared by unrelated policies', async () => {
		const clock = virtualRuntime()
		const budget = retryBudget({ maxRetryRatio: 0.1, minRetriesPerSecond: 0, runtime: clock })
		const [users, orders] = [
			retry({ ...steady, budget, runtime: clock }),
			retry({ ...steady, budget, runtime: clock }),
		]
		const work = dead(clock)
		const calls = Array.from({ length: 20 }, (_, i) => (i % 2 ? users : orders).execute(work))
		await settled(clock, Promise.allSettled(calls))
		expect(work.startedAt).toHaveLength(22)
	})

	test('applies to a single call by retryWithBackoff', async () => {
		const clock = virtualRuntime()
		const budget = retryBudget({ maxRetryRatio: 0, minRetriesPerSecond: 0.1, runtime: clock })
		const work = dead(clock)
		await settled(clock, retryWithBackoff(work, { ...steady, budget, runtime: clock }))
		expect(work.startedAt).toHaveLength(2)
	})

	test("counts on the policy's clock, also if the budget has no runtime", async () => {
		const clock = virtualRuntime()
		const budget = retryBudget({ maxRetryRatio: 0, minRetriesPerSecond: 0.1 })
		expect(await storm(clock, budget, 1)).toBe(2)
		await clock.advance(10_000)
		expect(await storm(clock, budget, 1)).toBe(2)
	})

	test('can be changed while calls are in flight', async () => {
		const clock = virtualRuntime()
		const budget = retryBudget({ maxRetryRatio: 0, minRetriesPerSecond: 10, runtime: clock })
		const work = dead(clock)
		const answer = retry({ ...steady, maxRetries: 9, budget, runtime: clock }).execute(work)
		await clock.advance(150)
		budget.update({ minRetriesPerSecond: 0 })
		await settled(clock, answer)
		// The second retry had been granted when the budget was cut.
		expect(work.startedAt).toEqual([0, 100, 300])
	})
})

describe('two layers that share a budget deposit once', () => {
	const both = (clock: VirtualRuntime) => {
		const budget = retryBudget({ maxRetryRatio: 0.5, minRetriesPerSecond: 0, runtime: clock })
		const make = () => retry({ ...steady, maxRetries: 2, budget, runtime: clock })
		return { budget, outer: make(), inner: make() }
	}

	test('two layers in one pipeline deposit once', async () => {
		const clock = virtualRuntime()
		const { budget, outer, inner } = both(clock)
		await settled(
			clock,
			pipeline(outer, inner).execute(() => 'ok'),
		)
		expect(budget.stats).toMatchObject({ requests: 1 })
	})

	test('nested calls that pass the context on deposit once', async () => {
		const clock = virtualRuntime()
		const { budget, outer, inner } = both(clock)
		await settled(
			clock,
			outer.execute((ctx) => inner.execute(() => 'ok', ctx)),
		)
		await settled(
			clock,
			outer.execute((ctx) => inner.execute(() => 'ok', { parent: ctx, name: 'inner' })),
		)
		await settled(
			clock,
			outer.execute((ctx) => inner.execute((deeper) => outer.execute(() => 'ok', deeper), ctx)),
		)
		expect(budget.stats).toMatchObject({ requests: 3 })
	})

	test('all attempts of a call deposit once', async () => {
		const clock = virtualRuntime()
		const { budget, outer, inner } = both(clock)
		budget.update({ minRetriesPerSecond: 10 })
		await settled(
			clock,
			outer.execute((ctx) => inner.execute(failing(clock, down, down), ctx)),
		)
		expect(budget.stats).toMatchObject({ requests: 1, retries: 2 })
	})

	test('two calls deposit twice, also inside one call', async () => {
		const clock = virtualRuntime()
		const { budget, inner } = both(clock)
		await settled(
			clock,
			inner.execute(() => inner.execute(() => 'ok')),
		)
		expect(budget.stats).toMatchObject({ requests: 2 })
	})

	test('each of two budgets receives one deposit', async () => {
		const clock = virtualRuntime()
		const budgets = [retryBudget({ runtime: clock }), retryBudget({ runtime: clock })]
		const policies = budgets.map((budget) => retry({ budget, runtime: clock }))
		await settled(
			clock,
			pipeline(...policies).execute(() => 'ok'),
		)
		expect(budgets.map(({ stats }) => stats.requests)).toEqual([1, 1])
	})
})

describe('a retry with a token budget', () => {
	test('stops when half of the tokens are gone, and reports it', async () => {
		const clock = virtualRuntime()
		const budget = tokenBudget({ maxTokens: 10, tokenRatio: 0.1 })
		const work = dead(clock, down)
		await settled(clock, retry({ ...steady, maxRetries: 20, budget, runtime: clock }).execute(work))
		// Every failure takes a token; the fifth leaves 5 of 10, which is not more than half.
		expect(work.startedAt).toHaveLength(5)
		expect(explain(down)).toMatchObject({ stop: 'budget' })
		expect(budget.stats).toEqual({ tokens: 5, available: 0 })
	})

	test('is drained once by a failure that an inner retry with the same budget passes on', async () => {
		const clock = virtualRuntime()
		const budget = tokenBudget({ maxTokens: 10, tokenRatio: 0.1 })
		const inner = retry({ shouldRetry: () => false, budget })
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 1, budget }), inner)
		const work = dead(clock, down)
		await settled(clock, policy.execute(work))
		expect(work.startedAt).toHaveLength(2)
		expect(budget.stats.tokens).toBe(8)
	})

	test('is refilled slowly by successes', async () => {
		const clock = virtualRuntime()
		const budget = tokenBudget({ maxTokens: 10, tokenRatio: 0.1 })
		expect(await storm(clock, budget, 5, { maxRetries: 0 })).toBe(5)
		const policy = retry({ ...steady, budget, runtime: clock })
		await Promise.all(Array.from({ length: 20 }, () => policy.execute(() => 'ok')))
		expect(budget.stats).toEqual({ tokens: 7, available: 2 })
		expect(await storm(clock, budget, 1)).toBe(2)
	})

	test('is not drained by errors that do not indicate overload', async () => {
		const clock = virtualRuntime()
		const budget = tokenBudget()
		const policy = retry({ ...steady, budget, runtime: clock })
		await settled(
			clock,
			policy.execute(() => Promise.reject(new HttpError(404))),
		)
		const signal = AbortSignal.abort()
		await settled(
			clock,
			policy.execute(() => 'never called', { signal }),
		)
		expect(budget.stats).toMatchObject({ tokens: 10 })
	})
})

describe('a retry with a quota', () => {
	test('charges every retry until nothing is left', async () => {
		const clock = virtualRuntime()
		const budget = new QuotaBudget({ capacity: 23 })
		expect(await storm(clock, budget, 10)).toBe(14)
		expect(budget.stats).toEqual({ left: 3, available: 0 })
	})

	test('charges more for a retry after a timeout', async () => {
		const clock = virtualRuntime()
		const budget = new QuotaBudget({ capacity: 23 })
		const policy = pipeline({ runtime: clock }, retry({ ...steady, budget }), timeout(50))
		const result = await settled(clock, policy.execute(never))
		expect(result).toMatchObject({ error: { name: 'TimeoutError' } })
		expect(explain(result.ok ? undefined : result.error)).toMatchObject({
			stop: 'budget',
			attempts: [{}, {}, {}],
		})
		expect(budget.stats).toMatchObject({ left: 3 })
	})

	test('refunds the last retry if it succeeded', async () => {
		const clock = virtualRuntime()
		const budget = new QuotaBudget({ capacity: 100 })
		const policy = pipeline({ runtime: clock }, retry({ ...steady, budget }), timeout(50))
		await settled(clock, policy.execute(failing(clock, down)))
		expect(budget.stats).toMatchObject({ left: 100 })
		await settled(clock, policy.execute(failing(clock, down, down)))
		expect(budget.stats).toMatchObject({ left: 95 })
		await settled(
			clock,
			policy.execute(({ attempt }) => (attempt ? 'ok' : never())),
		)
		expect(budget.stats).toMatchObject({ left: 95 })
	})

	test('refunds a little for a call without retries', async () => {
		const clock = virtualRuntime()
		const budget = new QuotaBudget({ capacity: 100, successRefund: 2 })
		await storm(clock, budget, 1)
		expect(budget.stats).toMatchObject({ left: 85 })
		await retry({ budget, runtime: clock }).execute(() => 'ok')
		expect(budget.stats).toMatchObject({ left: 87 })
	})

	test('refunds the same by settle as by execute', async () => {
		const clock = virtualRuntime()
		const budget = new QuotaBudget({ capacity: 100 })
		const policy = pipeline({ runtime: clock }, retry({ ...steady, budget }), timeout(50))
		await settled(
			clock,
			policy.settle(({ attempt }) => (attempt ? 'ok' : never())),
		)
		expect(budget.stats).toMatchObject({ left: 100 })
	})

	test.each([
		['token', () => tokenBudget(), { tokens: 9.1 }],
		['quota', () => new QuotaBudget({ capacity: 10 }), { left: 6 }],
	])('or a %s budget counts one success once if two layers share it', async (_, make, stats) => {
		const clock = virtualRuntime()
		const budget = make()
		budget.recordOutcome(false)
		budget.recordRetry()
		const shared = retry({ budget })
		await settled(
			clock,
			pipeline({ runtime: clock }, shared, retry({ budget })).execute(() => 'ok'),
		)
		expect(budget.stats).toMatchObject(stats)
	})
})
