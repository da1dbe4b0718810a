import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { spread } from '../../../src/sim/charts/end-labels.ts'

describe('spread', () => {
	it('keeps heights that are far enough apart', () => {
		expect(spread([10, 50, 90], 15, 0, 100)).toEqual([10, 50, 90])
	})

	it('pushes close heights apart around their middle', () => {
		expect(spread([50, 50], 10, 0, 100)).toEqual([45, 55])
		expect(spread([50, 50, 58], 10, 0, 100)).toEqual([42 + 2 / 3, 52 + 2 / 3, 62 + 2 / 3])
	})

	it('stays within the limits', () => {
		expect(spread([0, 0, 0], 10, 0, 100)).toEqual([0, 10, 20])
		expect(spread([95, 100, 100], 10, 0, 100)).toEqual([80, 90, 100])
	})

	it('keeps the distance, the order and the limits if the labels fit', () => {
		fc.assert(
			fc.property(fc.array(fc.double({ min: 0, max: 200, noNaN: true }), { maxLength: 12 }), (ends) => {
				const ys = spread(
					ends.toSorted((a, b) => a - b),
					15,
					0,
					200,
				)
				expect(ys).toHaveLength(ends.length)
				ys.forEach((y, index) => {
					expect(y).toBeGreaterThanOrEqual(-1e-9)
					expect(y).toBeLessThanOrEqual(200 + 1e-9)
					if (index > 0) expect(y - (ys[index - 1] ?? 0)).toBeGreaterThanOrEqual(15 - 1e-9)
				})
			}),
		)
	})
})
