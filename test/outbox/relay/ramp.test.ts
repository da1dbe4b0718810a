import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rampedLimit } from '../../../src/outbox/relay/local-breaker.ts'

test('the limit starts with one, reaches the square root half way and the full concurrency at the end', () => {
	expect(rampedLimit(16, 0, 10_000)).toBe(1)
	expect(rampedLimit(16, 5_000, 10_000)).toBe(4)
	expect(rampedLimit(16, 10_000, 10_000)).toBe(16)
})

test('returns the full concurrency with rampUpMs 0 or without an outage', () => {
	expect(rampedLimit(16, 0, 0)).toBe(16)
	expect(rampedLimit(16, Infinity, 10_000)).toBe(16)
})

test('the limit is a non-decreasing integer between one and the concurrency', () => {
	const numbers = [fc.integer({ min: 1, max: 1e6 }), fc.nat(20_000), fc.nat(20_000), fc.nat(20_000)] as const
	fc.assert(
		fc.property(...numbers, (concurrency, a, b, rampUpMs) => {
			const [early, late] = [Math.min(a, b), Math.max(a, b)].map((ms) =>
				rampedLimit(concurrency, ms, rampUpMs),
			)
			expect(early).toBeLessThanOrEqual(late ?? 0)
			expect(Number.isInteger(early)).toBe(true)
			expect(early).toBeGreaterThanOrEqual(1)
			expect(late).toBeLessThanOrEqual(concurrency)
		}),
	)
})
