import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LatencyHistogram } from '../../../src/core/hedge/latency.ts'

const of = (times: Iterable<number>) => {
	const histogram = new LatencyHistogram()
	for (const ms of times) histogram.record(ms)
	return histogram
}
const HOUR = 3_600_000

/** The least time within which `p` % of the calls ended. */
function exactPercentile(times: readonly number[], p: number): number {
	const sorted = times.toSorted((a, b) => a - b)
	return sorted[Math.max(0, Math.ceil((sorted.length * p) / 100) - 1)] ?? Number.NaN
}

/** Within 4.5 % of it. */
function isClose(histogram: LatencyHistogram, p: number, expected: number): void {
	const ratio = (histogram.percentile(p) ?? Number.NaN) / expected
	expect(ratio).toBeGreaterThan(1 / 1.045)
	expect(ratio).toBeLessThan(1.045)
}

describe('a latency histogram', () => {
	it('has no percentile before the first call', () => {
		expect(new LatencyHistogram().percentile(95)).toBeUndefined()
		expect(new LatencyHistogram().count).toBe(0)
	})
	it.each([50, 90, 95, 99, 100])('returns p%i of 1 to 1,000 ms', (p) => {
		isClose(of(Array.from({ length: 1_000 }, (_, i) => i + 1)), p, p * 10)
	})
	it('finds one slow call of a hundred at the 100th percentile and not at the 99th', () => {
		const histogram = of([...new Array<number>(99).fill(10), 5_000])
		isClose(histogram, 99, 10)
		isClose(histogram, 100, 5_000)
	})
	it('counts whole calls: the 7th percentile of a hundred is the 7th call', () => {
		const histogram = of([...new Array<number>(7).fill(1), ...new Array<number>(93).fill(100)])
		isClose(histogram, 7, 1)
	})
	it.each([0.125, 0.5, 1, 30_000, HOUR, 4 * HOUR])('returns %d ms', (ms) => {
		isClose(of([ms]), 50, ms)
	})
	it('puts values outside its range into the first or last bucket', () => {
		expect(of([0]).percentile(50)).toBeLessThan(0.14)
		expect(of([0.001]).percentile(50)).toBeLessThan(0.14)
		expect(of([1_000 * HOUR]).percentile(50)).toBeGreaterThan(4 * HOUR)
		expect(of([Infinity]).percentile(50)).toBeGreaterThan(4 * HOUR)
	})
	it('forgets: after 1,024 newer calls nothing is left of the older ones', () => {
		const histogram = of([...new Array<number>(1_000_000).fill(10), ...new Array<number>(1_024).fill(1_000)])
		isClose(histogram, 0, 1_000)
		expect(histogram.count).toBeLessThanOrEqual(1_024)
	})
	it('does not forget too soon: one slow call of 20 is still visible at the 96th percentile', () => {
		const histogram = of(Array.from({ length: 100_000 }, (_, i) => (i % 20 ? 10 : 700)))
		isClose(histogram, 96, 700)
		isClose(histogram, 94, 10)
		expect(histogram.count).toBeGreaterThanOrEqual(512)
	})
})

describe('against sorted lists', () => {
	const time = fc.oneof(
		fc.double({ min: 0.125, max: 100, noNaN: true }),
		fc.double({ min: 0.125, max: 4 * HOUR, noNaN: true }),
	)

	it('every percentile is within 4.5 %', () => {
		fc.assert(
			fc.property(
				fc.array(time, { minLength: 1, maxLength: 400 }),
				fc.oneof(fc.integer({ min: 0, max: 100 }), fc.double({ min: 0, max: 100, noNaN: true })),
				(times, p) => isClose(of(times), p, exactPercentile(times, p)),
			),
			{ numRuns: 1_000 },
		)
	})

	it('covers the last calls if there are more than it keeps', () => {
		fc.assert(
			fc.property(
				fc.array(time, { minLength: 1, maxLength: 50 }),
				fc.integer({ min: 500, max: 4_000 }),
				fc.integer({ min: 0, max: 100 }),
				(pattern, length, p) => {
					const times = Array.from({ length }, (_, i) => (pattern[i % pattern.length] ?? 0) * (1 + (i % 7)))
					const histogram = of(times)
					expect(histogram.count).toBeGreaterThanOrEqual(Math.min(length, 512))
					expect(histogram.count).toBeLessThanOrEqual(1_024)
					const latest = times.slice(-histogram.count).map((ms) => Math.min(ms, 2 ** 24 - 1))
					isClose(histogram, p, exactPercentile(latest, p))
				},
			),
			{ numRuns: 1_000 },
		)
	})

	it('percentiles never decrease', () => {
		fc.assert(
			fc.property(fc.array(time, { minLength: 1 }), (times) => {
				const histogram = of(times)
				const all = Array.from({ length: 101 }, (_, p) => histogram.percentile(p) ?? Number.NaN)
				expect(all).toEqual(all.toSorted((a, b) => a - b))
				expect(all).not.toContain(Number.NaN)
			}),
			{ numRuns: 1_000 },
		)
	})
})
