import { expect, test } from 'vitest'
import { clock, lasting, moment, number, percent } from '../../../src/sim/incident/wording.ts'

test.each([
	[448, '0.448 s'],
	[10_040, '10 s'],
	[119_900, '120 s'],
	[125_000, '2 min 5 s'],
	[7_199_000, '119 min 59 s'],
	[9_000_000, '2 h 30 min'],
])('%d ms last %s', (ms, text) => {
	expect(lasting(ms)).toBe(text)
})

test('numbers, shares and times are short', () => {
	expect([number(7), number(1_234), number(1_234_567)]).toEqual(['7', '1,234', '1,234,567'])
	expect([percent(0.5), percent(0.00674), percent(1)]).toEqual(['50 %', '0.674 %', '100 %'])
	expect(moment(Date.UTC(2026, 0, 1, 9, 5, 7, 600))).toBe('2026-01-01 09:05:08')
	expect(clock(Date.UTC(2026, 0, 1, 23, 59, 59, 700))).toBe('00:00:00')
})
