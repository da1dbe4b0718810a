import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HeatMap } from '../../../src/sim/picture/heat-chart.ts'
import { heatMap } from '../../../src/sim/picture/heat-map.ts'
import { displayWidth } from '../../../src/sim/picture/text/display-width.ts'
import { heatMapText } from '../../../src/sim/picture/text/heat-map-text.ts'
import { anyName } from './any-chart.ts'
import { placedTexts, soundPicture } from './sound.ts'
import { textsOf, type XmlElement } from './xml.ts'

const metastable: HeatMap = {
	title: 'Metastable failure',
	subtitle: '20 seeds',
	x: [0.5, 0.7, 0.9],
	y: [1, 10],
	xLabel: 'load',
	yLabel: 'trigger, seconds',
	valueLabel: 'runs that never recover',
	panels: [
		{
			title: 'full jitter',
			cells: [
				[0, 0, 0.4],
				[0, 0.9, 1],
			],
		},
		{
			title: 'budget',
			cells: [
				[0, 0, 0],
				[0, 0.05, null],
			],
		},
	],
}

const draw = (map: HeatMap): XmlElement => soundPicture(heatMap(map))
const cellsOf = (root: XmlElement): readonly string[] =>
	root.children
		.filter(({ name, attributes }) => name === 'rect' && Number(attributes['height']) > 12)
		.map(({ attributes }) => attributes['class'] ?? '')
		.filter((kind) => kind !== 'paper')

const anyMap: fc.Arbitrary<HeatMap> = fc
	.record({ columns: fc.integer({ min: 0, max: 16 }), rows: fc.integer({ min: 0, max: 3 }) })
	.chain(({ columns, rows }) => {
		const share = fc.oneof(fc.double({ min: 0, max: 1 }), fc.constantFrom(null, 0, 1, Number.NaN))
		const value = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), anyName)
		return fc.record({
			title: anyName,
			x: fc.array(value, { minLength: columns, maxLength: columns }),
			y: fc.array(value, { minLength: rows, maxLength: rows }),
			xLabel: anyName,
			yLabel: anyName,
			valueLabel: anyName,
			unknownLabel: fc.option(anyName, { nil: undefined }),
			panels: fc.array(
				fc.record({
					title: anyName,
					cells: fc.array(fc.array(share, { minLength: columns, maxLength: columns }), {
						minLength: rows,
						maxLength: rows,
					}),
				}),
				{ maxLength: 5 },
			),
		})
	})

describe('a heat map', () => {
	it('is sound whatever it is told', () => {
		fc.assert(
			fc.property(anyMap, (map) => {
				draw(map)
			}),
			{ numRuns: 150 },
		)
	})

	it('shows titles, axes, what the share is of, and the share in every cell', () => {
		const texts = textsOf(draw(metastable))
		const told = ['Metastable failure', '20 seeds', 'load', 'trigger, seconds', 'runs that never recover']
		expect(texts).toEqual(
			expect.arrayContaining([...told, 'full jitter', 'budget', '0.7', '10', '90', '5', '100']),
		)
	})

	it('has rows from the bottom up and columns from left to right', () => {
		const texts = placedTexts(draw({ ...metastable, panels: metastable.panels.slice(0, 1) }))
		const at = (text: string) => texts.findLast((one) => one.text === text)
		expect(at('90')?.y).toBeLessThan(at('40')?.y ?? 0)
		expect(at('90')?.left).toBeLessThan(at('40')?.left ?? 0)
	})

	it('has one colour for each tenth, and another look for what is not known', () => {
		const cells = cellsOf(draw(metastable))
		expect(cells.slice(0, 6)).toEqual(['h0', 'h0', 'h4', 'h0', 'h9', 'h10'])
		expect(cells.slice(6)).toEqual(['h0', 'h0', 'h0', 'h0', 'h1', 'unknown'])
		expect(textsOf(draw(metastable))).toContain('not known')
	})

	it('tells what an empty cell means only where there is one', () => {
		const known = { ...metastable, unknownLabel: 'not run', panels: metastable.panels.slice(0, 1) }
		expect(textsOf(draw(known))).not.toContain('not run')
		expect(textsOf(draw({ ...metastable, unknownLabel: 'not run' }))).toContain('not run')
	})

	it('does not round what is not quite all to all, nor a little to nothing', () => {
		const texts = textsOf(
			draw({ ...metastable, y: [1], panels: [{ title: 'a', cells: [[0.999, 0.001, 0.5]] }] }),
		)
		expect(texts).toContain('99')
		expect(texts).toContain('1')
		expect(texts).not.toContain('100')
	})

	it('leaves the numbers out of cells that are too small for them', () => {
		const x = Array.from({ length: 60 }, (_, index) => index)
		const panels = [{ title: 'a', cells: [x.map(() => 0.37)] }]
		const root = draw({ ...metastable, x, y: [1], panels })
		expect(textsOf(root)).not.toContain('37')
		expect(cellsOf(root)).toHaveLength(60)
	})

	it('puts panels into more rows before their cells become too small', () => {
		const cells = [[0, 0, 0, 0, 0, 0, 0, 0, 0]]
		const x = [1, 2, 3, 4, 5, 6, 7, 8, 9]
		const panels = ['a', 'b', 'c', 'd', 'e'].map((title) => ({ title, cells }))
		const places = placedTexts(draw({ ...metastable, x, y: [1], panels })).filter(({ text }) =>
			/^[a-e]$/.test(text),
		)
		expect(new Set(places.map(({ y }) => y)).size).toBe(2)
	})

	it('is described in words for those who do not see it', () => {
		expect(draw(metastable).children[1]?.text).toBe(
			'20 seeds. runs that never recover, by load (across) and trigger, seconds (up). ' +
				'full jitter: of 6 cells 3 are 0 %, 1 are 100 %. budget: of 5 cells 4 are 0 %, 0 are 100 %.',
		)
	})

	it('says that there is no data where there is none', () => {
		expect(textsOf(draw({ ...metastable, panels: [] }))).toContain('no data')
		expect(textsOf(draw({ ...metastable, x: [], panels: [{ title: 'a', cells: [[], []] }] }))).toContain(
			'no data',
		)
	})

	it.each<[string, HeatMap['panels']]>([
		['panels[0].cells.length: got 1; takes 2, one for each y', [{ title: 'a', cells: [[0, 0, 0]] }]],
		[
			'panels[0].cells[1].length: got 2; takes 3, one for each x',
			[
				{
					title: 'a',
					cells: [
						[0, 0, 0],
						[0, 0],
					],
				},
			],
		],
		[
			'panels[0].cells[1][2]: got 1.2; takes a number from 0 to 1, or null',
			[
				{
					title: 'a',
					cells: [
						[0, 0, 0],
						[0, 0, 1.2],
					],
				},
			],
		],
		[
			'panels[0].cells[0][0]: got -1; takes a number from 0 to 1, or null',
			[
				{
					title: 'a',
					cells: [
						[-1, 0, 0],
						[0, 0, 0],
					],
				},
			],
		],
	])('refuses %s', (message, panels) => {
		expect(() => heatMap({ ...metastable, panels })).toThrow(message)
		expect(() => heatMapText({ ...metastable, panels })).toThrow(message)
	})
})

describe('a heat map in a terminal', () => {
	it('has a shade for none, some, more and all that needs no colour', () => {
		expect(heatMapText(metastable)).toBe(
			`
Metastable failure
20 seeds

   full jitter    budget
10 ··▓▓██         ··░░??
 1 ····▒▒         ······
   0.5 0.9        0.5 0.9

across: load; up: trigger, seconds; shade: runs that never recover
· none   ░ up to a third   ▒ up to two thirds   ▓ more   █ all   ? not known
`.slice(1, -1),
		)
	})

	it('puts panels below each other where they do not fit side by side', () => {
		const lines = heatMapText(metastable, { width: 20 }).split('\n')
		expect(lines.indexOf('   budget')).toBeGreaterThan(lines.indexOf('   full jitter') + 3)
	})

	it('is never wider than the terminal while its columns fit', () => {
		fc.assert(
			fc.property(anyMap, fc.integer({ min: 50, max: 120 }), (map, width) => {
				for (const line of heatMapText(map, { width }).split('\n'))
					expect(displayWidth(line)).toBeLessThanOrEqual(width)
			}),
		)
	})

	it('paints with colours on demand and says the same', () => {
		const painted = heatMapText(metastable, { colour: true })
		expect(painted).toContain('\x1b[31m██\x1b[0m')
		expect(stripVTControlCharacters(painted)).toBe(heatMapText(metastable))
	})

	it('says that there is no data where there is none', () => {
		expect(heatMapText({ ...metastable, panels: [] })).toContain('\nno data\n')
	})
})
