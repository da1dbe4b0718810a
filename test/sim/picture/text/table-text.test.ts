import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { displayWidth } from '../../../../src/sim/picture/text/display-width.ts'
import { tableText } from '../../../../src/sim/picture/text/table-text.ts'
import { anyName } from '../any-chart.ts'

describe('a table in a terminal', () => {
	it('aligns by what is seen: Japanese takes two columns', () => {
		const table = {
			head: ['戦略', 'calls', 'recovered'],
			rows: [
				['naive', 105_149, 'never'],
				['フルジッター', 11_371.4, 'in 16.7 s'],
			],
		}
		expect(tableText(table)).toBe(
			`
戦略             calls   recovered
────────────   ───────   ─────────
naive          105,149       never
フルジッター    11,371   in 16.7 s
`.slice(1, -1),
		)
	})

	it('needs no head, and rows may differ in length', () => {
		expect(tableText({ rows: [['a', 1, 22], ['bcd']] })).toBe('a     1   22\nbcd')
	})

	it('aligns as told', () => {
		expect(
			tableText({
				rows: [
					['a', 'x'],
					['bcd', 'yz'],
				],
				align: ['right', 'left'],
			}),
		).toBe('  a   x\nbcd   yz')
	})

	it('shortens its widest column where it is wider than the terminal', () => {
		const text = tableText({ rows: [['a name that goes on and on and on', 12]] }, { width: 24 })
		expect(text).toBe('a name that goes o…   12')
	})

	it('has columns that begin and end at the same place in every row', () => {
		fc.assert(
			fc.property(fc.array(fc.tuple(anyName, fc.integer()), { minLength: 1 }), (rows) => {
				const widths = tableText({ rows }, { width: 400 }).split('\n').map(displayWidth)
				expect(new Set(widths).size).toBe(1)
			}),
		)
	})

	it('paints its head on demand', () => {
		expect(tableText({ head: ['a'], rows: [] }, { colour: true })).toBe('\x1b[1ma\x1b[0m\n\x1b[2m─\x1b[0m')
	})

	it('is nothing if there is nothing', () => expect(tableText({ rows: [] })).toBe(''))
})
