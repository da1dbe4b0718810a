import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import {
	coveringTicks,
	extentFromZero,
	innerTicks,
	isDrawable,
	linearScale,
} from '../../../src/sim/charts/scale.ts'

describe('coveringTicks', () => {
	it('cover all values and zero with few ticks', () => {
		const value = fc.double({ min: -1e15, max: 1e15, noNaN: true })
		fc.assert(
			fc.property(fc.array(value, { maxLength: 5 }), fc.integer({ min: 2, max: 8 }), (values, atMost) => {
				const extent = extentFromZero([values])
				const ticks = coveringTicks(extent, atMost)
				const tolerance = (extent.max - extent.min) * 1e-12
				expect(ticks.min).toBeLessThanOrEqual(extent.min + tolerance)
				expect(ticks.max).toBeGreaterThanOrEqual(extent.max - tolerance)
				expect(ticks.values).toContain(0)
				expect(ticks.values.length).toBeLessThanOrEqual(atMost + 3)
				expect(ticks.values.length).toBeGreaterThanOrEqual(2)
				expect(ticks.values.every(Number.isFinite)).toBe(true)
			}),
		)
	})

	it('go from 0 to 1 if all values are zero', () => {
		expect(coveringTicks({ min: 0, max: 0 }, 5).values).toEqual([0, 1])
	})

	it('are few for the smallest numbers, whose multiples are not exact', () => {
		expect(coveringTicks({ min: 0, max: 5.4e-323 }, 8).values).toEqual([0, expect.closeTo(0)])
	})

	it('are round numbers', () => {
		expect(coveringTicks({ min: 0, max: 1_130 }, 6).values).toEqual([0, 200, 400, 600, 800, 1_000, 1_200])
		expect(coveringTicks({ min: -3, max: 8 }, 5).values).toEqual([-5, 0, 5, 10])
	})
})

describe('innerTicks', () => {
	it('lie within the extent, and the last is not lost to rounding', () => {
		expect(innerTicks({ min: 0, max: 0.6 }, 6).values).toHaveLength(7)
		expect(innerTicks({ min: 3, max: 59 }, 6).values).toEqual([10, 20, 30, 40, 50])
	})

	it('keep the ends of the extent', () => {
		expect(innerTicks({ min: 3, max: 59 }, 6)).toMatchObject({ min: 3, max: 59, step: 10 })
	})
})

test('linearScale maps the ends of the extent to the ends of the range, and an empty extent to one point', () => {
	const down = linearScale({ min: 0, max: 10 }, 200, 100)
	expect([0, 5, 10].map(down)).toEqual([200, 150, 100])
	expect(linearScale({ min: 4, max: 4 }, 7, 9)(4)).toBe(7)
})

test('values that are not finite are gaps', () => {
	expect([null, undefined, Number.NaN, Infinity, -Infinity, 0].map(isDrawable)).toEqual([
		...Array(5).fill(false),
		true,
	])
	expect(extentFromZero([[5, null, Number.NaN], [-2]])).toEqual({ min: -2, max: 5 })
})
