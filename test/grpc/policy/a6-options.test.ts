import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { calculateDelay, hedge, retry, tokenBudget } from 'yaoki'
import {
	backoffOptions,
	GrpcHedge,
	GrpcRetry,
	hedgeOptions,
} from '../../../src/grpc/policy/repeat-policies.ts'
import type { GrpcRetryPolicy } from '../../../src/grpc/service-config/service-config.ts'
import { parseMethod, RETRY } from '../service-config/configs.ts'

function policyOf(changes: object, maxAttemptsCap = 5): GrpcRetryPolicy {
	const { retryPolicy } = parseMethod({ retryPolicy: { ...RETRY, ...changes } }, { maxAttemptsCap })
	if (!retryPolicy) throw new Error('no retry policy')
	return retryPolicy
}

describe('A6 exponential backoff: min(initialBackoff * backoffMultiplier ** (n - 1), maxBackoff) * random(0.8, 1.2)', () => {
	test('is the delay of core for every valid policy', () => {
		const seconds = fc.integer({ min: 1, max: 10_000_000 }).map((micros) => `${(micros / 1e6).toFixed(6)}s`)
		const policy = fc.record({
			maxAttempts: fc.integer({ min: 2, max: 30 }),
			initialBackoff: seconds,
			maxBackoff: seconds,
			backoffMultiplier: fc.double({ min: 0.01, max: 50, noNaN: true }),
		})
		const random = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
		fc.assert(
			fc.property(policy, random, (changes, drawn) => {
				const parsed = policyOf(changes, 30)
				const options = backoffOptions(parsed)
				expect(options.maxRetries).toBe(changes.maxAttempts - 1)
				expect(() => retry(options)).not.toThrow()
				const runtime = { now: () => 0, wallNow: () => 0, random: () => drawn, setTimer: () => () => {} }
				for (let n = 1; n < changes.maxAttempts; n++) {
					const step = Math.min(
						parsed.initialBackoffMs * parsed.backoffMultiplier ** (n - 1),
						parsed.maxBackoffMs,
					)
					const delayMs = calculateDelay(n - 1, { ...options, runtime })
					expect(delayMs / step).toBeCloseTo(0.8 + 0.4 * drawn, 9)
				}
			}),
		)
	})

	test.each([
		['a multiplier below 1', { backoffMultiplier: 0.5 }],
		['a maxBackoff below initialBackoff', { initialBackoff: '2s', maxBackoff: '1s' }],
		['the longest durations', { initialBackoff: '315576000000s', maxBackoff: '315576000000s' }],
		['the greatest multiplier', { backoffMultiplier: Number.MAX_VALUE }],
		['the smallest multiplier', { backoffMultiplier: Number.MIN_VALUE }],
	])('%s is accepted by the policies of a gRPC client', (_, changes) => {
		expect(() => new GrpcRetry(policyOf(changes), tokenBudget(), undefined)).not.toThrow()
	})

	test('a raised cap of a million attempts costs little', () => {
		const options = backoffOptions(policyOf({ maxAttempts: 1e6, backoffMultiplier: 0.9 }, 1e6))
		expect(options.maxRetries).toBe(999_999)
		expect(options.growth).toHaveLength(1_000)
		expect(calculateDelay(900_000, options)).toBeLessThan(1e-9)
	})
})

test.each([
	['the longest delay', { maxAttempts: 3, hedgingDelay: '315576000000s' }],
	['a raised cap', { maxAttempts: 1_000 }],
])('%s is accepted by the policies of a gRPC client', (_, hedgingPolicy) => {
	const parsed = parseMethod({ hedgingPolicy }, { maxAttemptsCap: 1_000 }).hedgingPolicy
	if (!parsed) throw new Error('no hedging policy')
	expect(() => hedge(hedgeOptions(parsed))).not.toThrow()
	expect(() => new GrpcHedge(parsed, tokenBudget())).not.toThrow()
})
