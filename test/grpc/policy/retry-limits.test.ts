import { describe, expect, test } from 'vitest'
import { retryBudget, tokenBudget } from 'yaoki'
import { TokenBudget } from '../../../src/core/budget/token-budget.ts'
import { retryLimits } from '../../../src/grpc/policy/retry-limits.ts'

/** Tokens of retryThrottling: retries are allowed above 2 of 4. */
const throttling = (failures: number) => {
	const tokens = new TokenBudget({ maxTokens: 4, tokenRatio: 1 })
	for (let n = 0; n < failures; n++) tokens.recordOutcome(false)
	return tokens
}

describe('the limits of retries', () => {
	test('allow everything without retryThrottling and budget', () => {
		const limits = retryLimits(undefined, undefined)
		limits.recordRequest(0)
		limits.recordRetry(0)
		expect([limits.canRetry(0), limits.available(0)]).toEqual([true, Infinity])
	})

	test('reject a retry without tokens, whatever the budget allows', () => {
		const budget = tokenBudget()
		expect(retryLimits(throttling(1), budget).canRetry(0)).toBe(true)
		expect(retryLimits(throttling(2), budget).canRetry(0)).toBe(false)
	})

	test('reject a retry without budget, whatever the tokens allow', () => {
		const budget = retryBudget({ minRetriesPerSecond: 0, maxRetryRatio: 0 })
		expect(budget.canRetry(0)).toBe(false)
		expect(retryLimits(throttling(0), budget).canRetry(0)).toBe(false)
	})

	test('allow the smaller number of both', () => {
		const tokens = throttling(0)
		const budget = tokenBudget({ maxTokens: 100 })
		expect(retryLimits(tokens, budget).available(0)).toBe(tokens.available())
		expect(retryLimits(throttling(4), budget).available(0)).toBe(0)
	})

	test('do not move the tokens by an outcome, because the attempt layer does', () => {
		const tokens = throttling(0)
		const before = tokens.available()
		const limits = retryLimits(tokens, undefined)
		for (let n = 0; n < 10; n++) limits.recordOutcome(false)
		expect(tokens.available()).toBe(before)
		expect(limits.canRetry(0)).toBe(true)
	})

	test('pass outcomes on to the budget', () => {
		const budget = tokenBudget({ maxTokens: 4 })
		const before = budget.available()
		const limits = retryLimits(undefined, budget)
		for (let n = 0; n < 3; n++) limits.recordOutcome(false, 'failure')
		expect(budget.available()).toBeLessThan(before)
	})
})
