import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { decimalsOf, figure, roughly } from '../../../src/sim/picture/figure.ts'

it.each([
	[0, 0, '0'],
	[999, 0, '999'],
	[1_000, 0, '1,000'],
	[-1_234_567.89, 1, '-1,234,567.9'],
	[0.25, 2, '0.25'],
	[-0.001, 2, '0.00'],
	[2_500_000_000, 0, '2.5e9'],
	[1e300, 0, '1e300'],
	[1e-12, 12, '1e-12'],
])('%d with %d decimals reads %s', (value, decimals, text) => expect(figure(value, decimals)).toBe(text))

it.each([
	[105_149, '105,149'],
	[16.74, '16.7'],
	[19.99, '20'],
	[0.5, '0.5'],
	[0.123456, '0.12'],
	[0.0012, '0.0012'],
	[-4.5678, '-4.57'],
	[100, '100'],
])('%d reads roughly %s', (value, text) => expect(roughly(value)).toBe(text))

test('a step says how many decimals its ticks need', () => {
	expect([20, 1, 0.5, 0.02].map(decimalsOf)).toEqual([0, 0, 1, 2])
})

test('a figure without decimals is the number again once its commas are gone', () => {
	fc.assert(
		fc.property(fc.integer({ min: -999_999_999, max: 999_999_999 }), (value) => {
			expect(Number(figure(value).replaceAll(',', ''))).toBe(value)
		}),
	)
})
