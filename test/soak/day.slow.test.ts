import { describe, expect, test } from 'vitest'
import { soakDay } from './day.ts'
import { soakHosts } from './hosts.ts'

/** Generous, because a busy machine needs several times as long. */
const TIMEOUT_MS = 180_000

/** Requires minimum counts: a soak shows nothing about what never happened in it. */
function expectAllOf(
	counts: Readonly<Record<string, number>>,
	least: Readonly<Record<string, number>>,
): void {
	for (const [what, times] of Object.entries(least))
		expect(counts[what], `count of ${what}`).toBeGreaterThanOrEqual(times)
}

describe('a virtual day', () => {
	test(
		'with a million calls and outages breaks no limit and leaves nothing behind',
		() => {
			const { counts, hash, ...rest } = soakDay({ seed: 'seven', calls: 1_000_000 })
			expect(rest).toEqual({
				violations: [],
				unanswered: 0,
				running: 0,
				pendingTimers: 0,
				concurrent: 0,
				queued: 0,
			})
			expectAllOf(counts, {
				fine: 500_000,
				retries: 5_000,
				'budget spent': 500,
				opened: 300,
				aborted: 1_000,
				'settled late': 500,
				'CircuitOpenError YAOKI_CIRCUIT_OPEN': 20_000,
				'BulkheadRejectedError YAOKI_BULKHEAD_REJECTED': 5_000,
				'DeadlineExceededError YAOKI_DEADLINE_EXCEEDED': 300,
				'TimeoutError YAOKI_TIMEOUT': 300,
				'HttpError YAOKI_HTTP': 1_000,
			})
		},
		TIMEOUT_MS,
	)

	test(
		'repeats with the same seed and differs with another',
		() => {
			const hashes = ['eight', 'eight', 'nine'].map((seed) => soakDay({ seed, calls: 30_000 }).hash)
			expect(hashes[1]).toBe(hashes[0])
			expect(hashes[2]).not.toBe(hashes[0])
		},
		TIMEOUT_MS,
	)
})

describe('calls to several hosts, with fallback, hedge, rate limit and a breaker and bulkhead for each', () => {
	test(
		'break no limit and leave nothing behind, although some operations never settle',
		() => {
			const { counts, hash, ...rest } = soakHosts({ seed: 'seven', calls: 40_000 })
			expect(rest).toEqual({ violations: [], unanswered: 0, pendingTimers: 0, concurrent: 0, queued: 0 })
			expectAllOf(counts, {
				fine: 20_000,
				'nothing better': 100,
				retries: 300,
				hedges: 500,
				'hedge won': 100,
				'hedge no-budget': 50,
				'budget spent': 100,
				'rate-limited': 50,
				opened: 50,
				aborted: 100,
				'settled late': 300,
				bulkheads: 100,
				BulkheadRejectedError: 500,
			})
		},
		TIMEOUT_MS,
	)

	test(
		'repeat with the same seed and differ with another',
		() => {
			const hashes = ['eight', 'eight', 'nine'].map((seed) => soakHosts({ seed, calls: 5_000 }).hash)
			expect(hashes[1]).toBe(hashes[0])
			expect(hashes[2]).not.toBe(hashes[0])
		},
		TIMEOUT_MS,
	)
})
