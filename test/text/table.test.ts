import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PLAIN } from '../../src/text/style.ts'
import { formatPairs, formatTable } from '../../src/text/table.ts'
import { displayWidth } from '../../src/text/width.ts'

const lines = (text: string): string => text.slice(1, -1)

describe('formatTable', () => {
	it('aligns by display width: a Japanese character takes two columns', () => {
		const table = {
			head: ['戦略', 'calls', 'recovered'],
			rows: [
				['naive', 105_149, 'never'],
				['フルジッター', 11_371.4, 'in 16.7 s'],
			],
		}
		expect(formatTable(table)).toBe(
			lines(`
戦略             calls   recovered
────────────   ───────   ─────────
naive          105,149       never
フルジッター    11,371   in 16.7 s
`),
		)
	})

	it('accepts rows of different lengths and no head', () => {
		expect(formatTable({ rows: [['a', 1, 22], ['bcd']] })).toBe('a     1   22\nbcd')
	})

	it('aligns as the table asks', () => {
		const rows = [
			['a', 'x'],
			['bcd', 'yz'],
		]
		expect(formatTable({ rows, align: ['right', 'left'] })).toBe('  a   x\nbcd   yz')
	})

	it('leaves out columns without text', () => {
		const rows = [
			['a', '', 'b'],
			['c', '', 'd'],
		]
		expect(formatTable({ rows })).toBe('a   b\nc   d')
	})

	it('wraps names if the table is too wide', () => {
		const rows = [
			['busy: after p95, with a budget', '12 ms'],
			['busy: after p95, without', '1.5 s'],
		]
		expect(formatTable({ rows }, { width: 34 })).toBe(
			lines(`
busy: after p95, with a      12 ms
  budget
busy: after p95, without     1.5 s
`),
		)
	})

	it('splits into tables with the same names if the figures leave no room for the names', () => {
		const head = ['', 'requests', 'published', 'last answer', 'published']
		const rows = [['100 clients, none', '2,372.0', '2,422.7', '1,991.7', '2,028.1']]
		expect(formatTable({ head, rows }, { width: 52 })).toBe(
			lines(`
                    requests   published
─────────────────   ────────   ─────────
100 clients, none    2,372.0     2,422.7

                    last answer   published
─────────────────   ───────────   ─────────
100 clients, none       1,991.7     2,028.1
`),
		)
	})

	it('keeps every digit, unit and letter in a terminal of any width', () => {
		const figure = fc.integer({ min: 0, max: 99_999 }).map((ms) => `${ms} ms`)
		const name = fc.stringMatching(/^[a-z]{1,30}( [a-z]{1,12}){0,3}$/)
		const table = fc.integer({ min: 1, max: 6 }).chain((count) => {
			const figures = fc.array(figure, { minLength: count, maxLength: count })
			return fc.array(fc.tuple(name, figures), { minLength: 1, maxLength: 5 })
		})
		fc.assert(
			fc.property(table, fc.integer({ min: 20, max: 90 }), (rows, width) => {
				const text = formatTable({ rows: rows.map(([first, rest]) => [first, ...rest]) }, { width })
				for (const line of text.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(width)
				const figures = rows.flatMap(([, rest]) => rest)
				expect(text.match(/\d+ ms/g)?.toSorted()).toEqual(figures.toSorted())
				const names = rows.map(([first]) => first.replaceAll(' ', '')).join('')
				const letters = text.split('\n\n').map((part) => part.replace(/\d+ ms|\s/g, ''))
				expect(new Set(letters)).toEqual(new Set([names]))
			}),
		)
	})

	it('gives all rows the same width, whatever the names contain', () => {
		const name = fc.string({ unit: 'grapheme' })
		fc.assert(
			fc.property(fc.array(fc.tuple(name, fc.integer()), { minLength: 1 }), (rows) => {
				const widths = formatTable({ rows }, { width: 400 }).split('\n').map(displayWidth)
				expect(new Set(widths).size).toBe(1)
			}),
		)
	})

	it('removes control characters from cells', () => {
		expect(formatTable({ rows: [['a\x1b[2J\nb', 1]] })).toBe('a\uFFFD[2J b   1')
	})

	it('styles the head', () => {
		const style = {
			...PLAIN,
			bold: (text: string) => `<b>${text}</b>`,
			dim: (text: string) => `<i>${text}</i>`,
		}
		expect(formatTable({ head: ['a'], rows: [] }, { style })).toBe('<b>a</b>\n<i>─</i>')
	})

	it('is empty without rows', () => expect(formatTable({ rows: [] })).toBe(''))
})

describe('formatPairs', () => {
	it('aligns the columns and wraps the right one under itself', () => {
		const pairs = [
			['--a', 'one two three'],
			['--long', 'four'],
		] as const
		expect(formatPairs(pairs, 20)).toEqual(['  --a      one two', '           three', '  --long   four'])
	})

	it('writes no spaces at the end of a line', () => {
		expect(formatPairs([['--a', '']], 80)).toEqual(['  --a'])
	})

	it('gives a left text that is too wide a line of its own', () => {
		const wide = 'x'.repeat(40)
		const pairs = [
			['--a', 'one'],
			[wide, 'two'],
		] as const
		expect(formatPairs(pairs, 80)).toEqual(['  --a   one', `  ${wide}`, '        two'])
	})

	it('limits lines to 110 columns in a wider terminal', () => {
		const found = formatPairs([['--a', 'word '.repeat(100)]], 1_000)
		expect(Math.max(...found.map(({ length }) => length))).toBeLessThanOrEqual(110)
	})
})
