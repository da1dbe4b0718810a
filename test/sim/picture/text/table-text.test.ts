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

	it('goes on with a name in the next line where it is wider than the terminal', () => {
		const rows = [
			['busy: after p95, with a budget', '12 ms'],
			['busy: after p95, without', '1.5 s'],
		]
		expect(tableText({ rows }, { width: 34 })).toBe(
			`
busy: after p95, with a      12 ms
  budget
busy: after p95, without     1.5 s
`.slice(1, -1),
		)
	})

	it('becomes two tables with the same names where the figures leave no room for them', () => {
		const head = ['', 'requests', 'published', 'last answer', 'published']
		const rows = [['100 clients, none', '2,372.0', '2,422.7', '1,991.7', '2,028.1']]
		expect(tableText({ head, rows }, { width: 52 })).toBe(
			`
                    requests   published
─────────────────   ────────   ─────────
100 clients, none    2,372.0     2,422.7

                    last answer   published
─────────────────   ───────────   ─────────
100 clients, none       1,991.7     2,028.1
`.slice(1, -1),
		)
	})

	it('lacks no digit, no unit and no letter of a name in a terminal however narrow', () => {
		const figure = fc.integer({ min: 0, max: 99_999 }).map((ms) => `${ms} ms`)
		const name = fc.stringMatching(/^[a-z]{1,30}( [a-z]{1,12}){0,3}$/)
		const table = fc.integer({ min: 1, max: 6 }).chain((count) => {
			const figures = fc.array(figure, { minLength: count, maxLength: count })
			return fc.array(fc.tuple(name, figures), { minLength: 1, maxLength: 5 })
		})
		fc.assert(
			fc.property(table, fc.integer({ min: 20, max: 90 }), (rows, width) => {
				const text = tableText({ rows: rows.map(([first, rest]) => [first, ...rest]) }, { width })
				for (const line of text.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(width)
				const figures = rows.flatMap(([, rest]) => rest)
				expect(text.match(/\d+ ms/g)?.toSorted()).toEqual(figures.toSorted())
				const names = rows.map(([first]) => first.replaceAll(' ', '')).join('')
				const letters = text.split('\n\n').map((part) => part.replace(/\d+ ms|\s/g, ''))
				expect(new Set(letters)).toEqual(new Set([names]))
			}),
		)
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
