import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { estimate, standardErrors, studentQuantile } from '../../../src/sim/measure/estimate.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'

describe("Student's t quantile", () => {
	// From the usual table of the 97.5th percentile.
	it.each([
		[1, 12.706],
		[2, 4.303],
		[3, 3.182],
		[4, 2.776],
		[5, 2.571],
		[9, 2.262],
		[10, 2.228],
		[11, 2.201],
		[15, 2.131],
		[19, 2.093],
		[20, 2.086],
		[30, 2.042],
		[60, 2.0],
		[120, 1.98],
		[1_000, 1.962],
	])('for %i degrees of freedom is %f', (freedom, expected) => {
		expect(Math.abs(studentQuantile(freedom) - expected)).toBeLessThan(0.0025)
	})

	it('approaches the normal distribution', () => {
		const all = Array.from({ length: 300 }, (_, index) => studentQuantile(index + 1))
		expect(all).toEqual(all.toSorted((a, b) => b - a))
		expect(studentQuantile(1e9)).toBeCloseTo(1.959964, 5)
	})
})

describe('an estimate', () => {
	it('has the mean, the standard deviation, and the confidence interval', () => {
		const { mean, sd, low, high, count, min, max } = estimate([2, 4, 4, 4, 5, 5, 7, 9])
		expect([mean, count, min, max]).toEqual([5, 8, 2, 9])
		expect(sd).toBeCloseTo(Math.sqrt(32 / 7), 12)
		expect(high - mean).toBeCloseTo((2.3646 * sd) / Math.sqrt(8), 12)
		expect(mean - low).toBeCloseTo(high - mean, 12)
	})

	it('has no interval for a single run', () => {
		expect(estimate([3])).toEqual({ mean: 3, low: 3, high: 3, sd: 0, count: 1, min: 3, max: 3 })
	})

	it('is NaN without runs', () => {
		const { count, ...figures } = estimate([])
		expect(count).toBe(0)
		expect(Object.keys(figures)).toHaveLength(6)
		for (const figure of Object.values(figures)) expect(figure).toBeNaN()
	})

	it('works for the maximum number of runs', () => {
		expect(estimate(Array.from({ length: 1e6 }, (_, index) => index)).max).toBe(999_999)
	})

	it('scales with its values', () => {
		const values = fc.array(fc.integer({ min: -1_000, max: 1_000 }), { minLength: 2, maxLength: 50 })
		fc.assert(
			fc.property(
				values,
				fc.integer({ min: -100, max: 100 }),
				fc.integer({ min: 1, max: 9 }),
				(some, by, times) => {
					const [one, other] = [estimate(some), estimate(some.map((value) => value * times + by))]
					expect(other.mean).toBeCloseTo(one.mean * times + by, 6)
					expect(other.high - other.low).toBeCloseTo((one.high - one.low) * times, 6)
				},
			),
		)
	})

	it('contains the true mean in 95 of 100 cases', () => {
		const random = seededRandom('coverage')
		const draw = () => Array.from({ length: 12 }, random).reduce((sum, one) => sum + one, -6)
		const hits = Array.from({ length: 4_000 }, () => {
			const { low, high } = estimate(Array.from({ length: 5 }, draw))
			return low <= 0 && 0 <= high
		}).filter(Boolean).length
		expect(Math.abs(hits / 4_000 - 0.95)).toBeLessThan(5 * Math.sqrt((0.95 * 0.05) / 4_000))
	})
})

describe('two means', () => {
	it('are compared in standard errors', () => {
		const ours = { mean: 10, sd: 3, count: 9 }
		expect(standardErrors(ours, { mean: 7, sd: 4, count: 16 })).toBeCloseTo(3 / Math.SQRT2, 12)
		expect(standardErrors(ours, ours)).toBe(0)
	})

	it('differ by 0 or Infinity without a standard deviation', () => {
		const exact = (mean: number) => ({ mean, sd: 0, count: 10 })
		expect(standardErrors(exact(5), exact(5))).toBe(0)
		expect(standardErrors(exact(5), exact(6))).toBe(-Infinity)
	})
})
