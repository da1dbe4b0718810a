import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { filledParts, returnTokens, takeTokens } from '../../../../src/outbox/store/decisions/tokens.ts'
import type { SharedRate } from '../../../../src/outbox/store/rows.ts'

describe('token bucket', () => {
	const rate: SharedRate = { limit: 3, intervalMs: 1_000, burst: 2 }

	test('loses no fraction of a token: three thirds make one', () => {
		let bucket = takeTokens(undefined, 2, rate, 0).bucket
		for (const now of [111, 222]) {
			const taken = takeTokens(bucket, 1, rate, now)
			expect(taken.granted).toBe(0)
			bucket = taken.bucket
		}
		expect(takeTokens(bucket, 1, rate, 333)).toMatchObject({ granted: 0, inMs: 1 })
		expect(takeTokens(bucket, 1, rate, 334)).toMatchObject({ granted: 1, inMs: 0 })
	})

	test('ignores a clock that was set back, and converts to another interval', () => {
		const { bucket } = takeTokens(undefined, 1, rate, 5_000)
		expect(filledParts(bucket, rate, 0)).toBe(1_000)
		expect(filledParts(bucket, { ...rate, intervalMs: 500 }, 5_000)).toBe(500)
	})

	test('returns tokens up to the burst, and leaves an unused bucket as it is', () => {
		const { bucket } = takeTokens(undefined, 2, rate, 0)
		expect(returnTokens(bucket, 1, rate, 0)).toEqual({ parts: 1_000, intervalMs: 1_000, at: 0 })
		expect(returnTokens(bucket, 9, rate, 0)?.parts).toBe(2_000)
		expect(returnTokens(undefined, 1, rate, 0)).toBeUndefined()
	})

	test('grants at most the burst and the rate, however the requests are spread', () => {
		const request = fc.record({ count: fc.nat(4), waitMs: fc.nat(900) })
		fc.assert(
			fc.property(fc.array(request, { minLength: 1, maxLength: 40 }), (requests) => {
				let now = 0
				let granted = 0
				let bucket = takeTokens(undefined, 0, rate, now).bucket
				for (const { count, waitMs } of requests) {
					now += waitMs
					const taken = takeTokens(bucket, count, rate, now)
					expect(taken.inMs).toBe(taken.granted < count ? Math.ceil((1_000 - taken.bucket.parts) / 3) : 0)
					granted += taken.granted
					bucket = taken.bucket
				}
				expect(granted).toBeLessThanOrEqual(rate.burst + (now * rate.limit) / rate.intervalMs)
			}),
		)
	})
})
