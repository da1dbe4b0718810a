import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import {
	coveringTicks,
	drawable,
	extentFromZero,
	innerTicks,
	linearScale,
	niceStep,
} from '../../../src/sim/picture/scale.ts'

const size = fc.double({ min: 1e-200, max: 1e200, noNaN: true })

describe('a step', () => {
	it.each([
		[1, 1],
		[1.1, 2],
		[2.5, 5],
		[5.5, 10],
		[0.003, 0.005],
		[12_000, 20_000],
		[99, 100],
	])('for %d is %d', (rough, step) => expect(niceStep(rough)).toBe(step))

	it('is 1, 2 or 5 times a power of ten, at least what was asked for, and less than 2.5 times of it', () => {
		fc.assert(
			fc.property(size, (rough) => {
				const step = niceStep(rough)
				expect(step.toExponential()).toMatch(/^[125]e/)
				expect(step).toBeGreaterThanOrEqual(rough * (1 - 1e-12))
				expect(step).toBeLessThanOrEqual(rough * 2.5 * (1 + 1e-12))
			}),
		)
	})
})

describe('the ticks of a y axis', () => {
	it('cover all that is drawn, zero included, with few lines', () => {
		const value = fc.double({ noNaN: true, noDefaultInfinity: true })
		fc.assert(
			fc.property(fc.array(value, { maxLength: 5 }), fc.integer({ min: 2, max: 8 }), (values, atMost) => {
				const extent = extentFromZero([values])
				const ticks = coveringTicks(extent, atMost)
				const hair = (extent.greatest - extent.least) * 1e-12
				expect(ticks.least).toBeLessThanOrEqual(extent.least + hair)
				expect(ticks.greatest).toBeGreaterThanOrEqual(extent.greatest - hair)
				expect(ticks.values.some((tick) => tick === 0)).toBe(true)
				expect(ticks.values.length).toBeLessThanOrEqual(atMost + 3)
				expect(ticks.values.length).toBeGreaterThanOrEqual(2)
				expect(ticks.values.every(Number.isFinite)).toBe(true)
			}),
		)
	})

	it('go from 0 to 1 where all is zero', () => {
		expect(coveringTicks({ least: 0, greatest: 0 }, 5).values).toEqual([0, 1])
	})

	it('are those that one would have written', () => {
		expect(coveringTicks({ least: 0, greatest: 1_130 }, 6).values).toEqual([
			0, 200, 400, 600, 800, 1_000, 1_200,
		])
		expect(coveringTicks({ least: -3, greatest: 8 }, 5).values).toEqual([-5, 0, 5, 10])
	})
})

describe('the ticks of an x axis', () => {
	it('lie within it, and the last is not lost to rounding', () => {
		expect(innerTicks({ least: 0, greatest: 0.6 }, 6).values).toHaveLength(7)
		expect(innerTicks({ least: 3, greatest: 59 }, 6).values).toEqual([10, 20, 30, 40, 50])
	})

	it('leave its ends where the data ends', () => {
		expect(innerTicks({ least: 3, greatest: 59 }, 6)).toMatchObject({ least: 3, greatest: 59, step: 10 })
	})
})

test('a scale maps its ends to its ends, and a range of nothing to one place', () => {
	const down = linearScale({ least: 0, greatest: 10 }, 200, 100)
	expect([0, 5, 10].map(down)).toEqual([200, 150, 100])
	expect(linearScale({ least: 4, greatest: 4 }, 7, 9)(4)).toBe(7)
})

test('what can not be drawn is a gap, and what is too large or too small for arithmetic is drawn at its edge', () => {
	expect([null, undefined, Number.NaN, Infinity, -Infinity].map(drawable)).toEqual(Array(5).fill(undefined))
	expect(drawable(0)).toBe(0)
	expect(drawable(-1e308)).toBe(-1e300)
	expect(drawable(5e-324)).toBe(0)
	expect(extentFromZero([[5, null, Number.NaN], [-2]])).toEqual({ least: -2, greatest: 5 })
})
