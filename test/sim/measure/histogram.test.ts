import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Histogram } from '../../../src/sim/measure/histogram.ts'

const histogramOf = (values: readonly number[]): Histogram => {
	const histogram = new Histogram()
	for (const value of values) histogram.record(value)
	return histogram
}

/** The quantile of a sorted list. */
const exact = (sorted: readonly number[], share: number): number =>
	sorted[Math.max(1, Math.ceil(sorted.length * share)) - 1] ?? 0

/** From a nanosecond to thirty thousand years. */
const time = fc.double({ min: 1e-6, max: 1e13, noNaN: true })
const times = fc.array(time, { minLength: 1, maxLength: 200 })

describe('a quantile', () => {
	it('is at most 1.6 % off, for any values', () => {
		fc.assert(
			fc.property(times, fc.double({ min: 0, max: 1, noNaN: true }), (values, share) => {
				const truth = exact(
					values.toSorted((a, b) => a - b),
					share,
				)
				expect(Math.abs(histogramOf(values).quantile(share) - truth) / truth).toBeLessThanOrEqual(0.016)
			}),
			{ numRuns: 1_000 },
		)
	})

	it('grows with the share, up to the maximum', () => {
		fc.assert(
			fc.property(times, (values) => {
				const histogram = histogramOf(values)
				const quantiles = [0, 0.1, 0.5, 0.9, 0.99, 1].map((share) => histogram.quantile(share))
				expect(quantiles).toEqual(quantiles.toSorted((a, b) => a - b))
				expect(quantiles.at(-1)).toBeLessThanOrEqual(Math.max(...values))
			}),
		)
	})

	it('is 0 without values, and for zeros', () => {
		expect(new Histogram().quantile(0.99)).toBe(0)
		expect(histogramOf([0, 0, 0]).summary).toEqual({
			meanMs: 0,
			p50Ms: 0,
			p90Ms: 0,
			p99Ms: 0,
			p999Ms: 0,
			maxMs: 0,
		})
	})

	it('counts out-of-range values in the outermost buckets', () => {
		const histogram = histogramOf([1e-300, 1e300])
		expect([histogram.quantile(0.5), histogram.count, histogram.max]).toEqual([1e-300, 2, 1e300])
		expect(histogram.quantile(1)).toBe(1e300)
	})
})

it('mean, count and maximum are exact', () => {
	const { count, sum, max, summary } = histogramOf([1, 2, 4, 9])
	expect({ count, sum, max }).toEqual({ count: 4, sum: 16, max: 9 })
	expect([summary.meanMs, summary.maxMs]).toEqual([4, 9])
})

it('a merged histogram equals one that recorded all values', () => {
	fc.assert(
		fc.property(times, times, (some, others) => {
			const both = histogramOf(some)
			both.merge(histogramOf(others))
			const one = histogramOf([...some, ...others])
			const { meanMs, ...rest } = both.summary
			expect({ ...rest, meanMs: one.summary.meanMs }).toEqual(one.summary)
			// For numbers this large the last digits of a sum depend on the order.
			expect(Math.abs(meanMs - one.summary.meanMs) / meanMs).toBeLessThan(1e-9)
			expect(both.count).toBe(one.count)
		}),
	)
})
