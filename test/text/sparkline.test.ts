import { expect, it } from 'vitest'
import { sparkline } from '../../src/text/sparkline.ts'

it('draws values from 0 to the highest of them', () => {
	expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7], 80)).toBe('▁▂▃▄▅▆▇█')
})

it('draws on a given scale, so that several lines can be compared', () => {
	expect(sparkline([0, 7, 14, 21], 80, 14)).toBe('▁▅██')
})

it('leaves a gap for null and for numbers that are not finite', () => {
	expect(sparkline([7, null, Number.NaN, 7], 80)).toBe('█  █')
})

it('shows the highest value of each column if there are more values than columns', () => {
	expect(sparkline([0, 0, 9, 0, 0, 0], 3)).toBe('▁█▁')
	expect([...sparkline(Array(1_000).fill(1), 40)]).toHaveLength(40)
})

it('draws zeros and negative values at the bottom', () => {
	expect(sparkline([0, 0, -3], 80)).toBe('▁▁▁')
})

it('is empty without values or columns', () => {
	expect(sparkline([], 80)).toBe('')
	expect(sparkline([1], 0)).toBe('')
})
