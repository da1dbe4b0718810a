import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rampedLimit } from '../../../src/outbox/relay/local-breaker.ts'

test('one at first, the square root half way, all in the end', () => {
	expect(rampedLimit(16, 0, 10_000)).toBe(1)
	expect(rampedLimit(16, 5_000, 10_000)).toBe(4)
	expect(rampedLimit(16, 10_000, 10_000)).toBe(16)
})

test('without a time to ramp up, or where nothing was ever shut, all at once', () => {
	expect(rampedLimit(16, 0, 0)).toBe(16)
	expect(rampedLimit(16, Infinity, 10_000)).toBe(16)
})

test('it never shrinks with time, is whole, and lies between one and all', () => {
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
