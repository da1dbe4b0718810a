import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
	decimalsFor,
	formatCount,
	formatDuration,
	formatNumber,
	formatPercent,
	formatRelativeTime,
	formatSignificant,
	joinList,
	niceStep,
} from '../../src/text/format.ts'
import { didYouMean, nearestName } from '../../src/text/nearest.ts'

describe('formatNumber', () => {
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
		[0, 12, '0'],
	])('formats %d with %d decimals as %s', (value, decimals, text) =>
		expect(formatNumber(value, decimals)).toBe(text),
	)

	it('keeps every digit of an integer below 1e9', () => {
		fc.assert(
			fc.property(fc.integer({ min: -999_999_999, max: 999_999_999 }), (value) => {
				expect(Number(formatNumber(value).replaceAll(',', ''))).toBe(value)
			}),
		)
	})
})

describe('formatSignificant', () => {
	it.each([
		[105_149, '105,149'],
		[16.74, '16.7'],
		[19.99, '20'],
		[0.5, '0.5'],
		[0.123456, '0.12'],
		[0.0012, '0.0012'],
		[-4.5678, '-4.57'],
		[100, '100'],
	])('formats %d as %s', (value, text) => expect(formatSignificant(value)).toBe(text))
})

it('decimalsFor returns the decimals of a step', () => {
	expect([20, 1, 0.5, 0.02].map(decimalsFor)).toEqual([0, 0, 1, 2])
})

describe('niceStep', () => {
	it.each([
		[1, 1],
		[1.1, 2],
		[2.5, 5],
		[5.5, 10],
		[0.003, 0.005],
		[12_000, 20_000],
		[99, 100],
	])('rounds %d up to %d', (rough, step) => expect(niceStep(rough)).toBe(step))

	it('is 1, 2 or 5 times a power of ten, at least what was asked for, and less than 2.5 times of it', () => {
		fc.assert(
			fc.property(fc.double({ min: 1e-200, max: 1e200, noNaN: true }), (rough) => {
				const step = niceStep(rough)
				expect(step.toExponential()).toMatch(/^[125]e/)
				expect(step).toBeGreaterThanOrEqual(rough * (1 - 1e-12))
				expect(step).toBeLessThanOrEqual(rough * 2.5 * (1 + 1e-12))
			}),
		)
	})
})

describe('formatPercent', () => {
	it('uses about three significant digits by default', () => {
		expect([0, 0.1234, 1].map((share) => formatPercent(share))).toEqual(['0 %', '12.3 %', '100 %'])
	})

	it('uses the given decimals', () => expect(formatPercent(0.5, 1)).toBe('50.0 %'))
})

it('formatCount uses the plural for every count but one', () => {
	expect([0, 1, 2].map((count) => formatCount(count, 'message'))).toEqual([
		'0 messages',
		'1 message',
		'2 messages',
	])
	expect(formatCount(2_000, 'retry', 'retries')).toBe('2,000 retries')
})

describe('formatDuration', () => {
	it.each([
		[-5, '0 ms'],
		[0.4, '0 ms'],
		[999, '999 ms'],
		[1_000, '1 s'],
		[90_000, '90 s'],
		[120_000, '2 min'],
		[7_199_999, '120 min'],
		[7_200_000, '2 h'],
		[86_400_000, '24 h'],
		[172_800_000, '2 d'],
	])('formats %d ms as %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

	it.each([
		[850, '850 ms'],
		[1_530, '1.53 s'],
		[200_000, '3 min 20 s'],
		[7_260_000, '2 h 1 min'],
		[190_800_000, '2 d 5 h'],
	])('formats %d ms in two units as %s', (ms, text) => expect(formatDuration(ms, 2)).toBe(text))
})

it('formatRelativeTime distinguishes past and future', () => {
	expect([12_000, 0, -180_000].map(formatRelativeTime)).toEqual(['in 12 s', '0 ms ago', '3 min ago'])
})

describe('joinList', () => {
	it.each([
		[[], ''],
		[['a'], 'a'],
		[['a', 'b'], 'a and b'],
		[['a', 'b', 'c'], 'a, b and c'],
	])('joins %j as "%s"', (items, text) => expect(joinList(items)).toBe(text))

	it('uses the given conjunction', () => expect(joinList(['a', 'b'], 'or')).toBe('a or b'))

	it('counts the items beyond maxItems', () => {
		expect(joinList(['a', 'b', 'c', 'd'], 'or', 2)).toBe('a, b and 2 more')
		expect(joinList(['a', 'b'], 'or', 2)).toBe('a or b')
	})
})

it('didYouMean returns a sentence, or nothing without a name', () => {
	expect(didYouMean(nearestName('sead', ['seed', 'out']))).toBe(' Did you mean "seed"?')
	expect(didYouMean(nearestName('x', ['seed', 'out']))).toBe('')
})
