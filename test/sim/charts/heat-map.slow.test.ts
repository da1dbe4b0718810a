import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type HeatMap, heatMap } from '../../../src/sim/charts/heat-map.ts'
import { anyName } from './any-chart.ts'
import { checkStructure, checkSvg, placedTexts, readableName } from './check-svg.ts'
import { textsOf, type XmlElement } from './xml.ts'

const metastable: HeatMap = {
	title: 'Metastable failure',
	subtitle: '20 seeds',
	x: ['0.5', '0.7', '0.9'],
	y: ['1', '10'],
	xLabel: 'load',
	yLabel: 'trigger, seconds',
	valueLabel: 'runs that never recover',
	unknownLabel: 'not run',
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

const draw = (map: HeatMap): XmlElement => checkSvg(heatMap(map))
const cellClasses = (root: XmlElement): readonly string[] =>
	root.children
		.filter(({ name, attributes }) => name === 'rect' && Number(attributes['height']) > 12)
		.map(({ attributes }) => attributes['class'] ?? '')
		.filter((kind) => kind !== 'paper')

const anyMap = (name: fc.Arbitrary<string>): fc.Arbitrary<HeatMap> =>
	fc
		.record({ columns: fc.integer({ min: 0, max: 16 }), rows: fc.integer({ min: 0, max: 3 }) })
		.chain(({ columns, rows }) => {
			const share = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(null, 0, 1))
			const row = fc.array(share, { minLength: columns, maxLength: columns })
			const cells = fc.array(row, { minLength: rows, maxLength: rows })
			return fc.record({
				title: name,
				subtitle: name,
				x: fc.array(name, { minLength: columns, maxLength: columns }),
				y: fc.array(name, { minLength: rows, maxLength: rows }),
				xLabel: name,
				yLabel: name,
				valueLabel: name,
				unknownLabel: name,
				panels: fc.array(fc.record({ title: name, cells }), { maxLength: 5 }),
			})
		})

describe('heatMap', () => {
	it('keeps texts apart and within the chart, whatever the names', () => {
		fc.assert(
			fc.property(anyMap(readableName), (map) => {
				draw(map)
			}),
			{ numRuns: 150 },
		)
	})

	it('is well-formed, whatever the names', () => {
		fc.assert(
			fc.property(anyMap(anyName), (map) => {
				checkStructure(heatMap(map))
			}),
		)
	})

	it('shows titles, axes, what the share is of, and the share in every cell', () => {
		const texts = textsOf(draw(metastable))
		const labels = ['Metastable failure', '20 seeds', 'load', 'trigger, seconds', 'runs that never recover']
		expect(texts).toEqual(
			expect.arrayContaining([...labels, 'full jitter', 'budget', '0.7', '10', '90', '5', '100']),
		)
	})

	it('has rows from the bottom up and columns from left to right', () => {
		const texts = placedTexts(draw({ ...metastable, panels: metastable.panels.slice(0, 1) }))
		const find = (text: string) => texts.findLast((one) => one.text === text)
		expect(find('90')?.y).toBeLessThan(find('40')?.y ?? 0)
		expect(find('90')?.left).toBeLessThan(find('40')?.left ?? 0)
	})

	it('has one color for each tenth, and marks unknown cells', () => {
		const classes = cellClasses(draw(metastable))
		expect(classes.slice(0, 6)).toEqual(['h0', 'h0', 'h4', 'h0', 'h9', 'h10'])
		expect(classes.slice(6)).toEqual(['h0', 'h0', 'h0', 'h0', 'h1', 'unknown'])
	})

	it('explains unknown cells only if there are any', () => {
		expect(textsOf(draw(metastable))).toContain('not run')
		const known = { ...metastable, panels: metastable.panels.slice(0, 1) }
		expect(textsOf(draw(known))).not.toContain('not run')
	})

	it('rounds only exactly 1 to 100 and only exactly 0 to 0', () => {
		const panels = [{ title: 'a', cells: [[0.999, 0.001, 0.5]] }]
		const texts = textsOf(draw({ ...metastable, y: ['1'], panels }))
		expect(texts).toContain('99')
		expect(texts).toContain('1')
		expect(texts).not.toContain('100')
	})

	it('leaves out numbers in cells that are too small for them', () => {
		const x = Array.from({ length: 60 }, (_, index) => String(index))
		const panels = [{ title: 'a', cells: [x.map(() => 0.37)] }]
		const root = draw({ ...metastable, x, y: ['1'], panels })
		expect(textsOf(root)).not.toContain('37')
		expect(cellClasses(root)).toHaveLength(60)
	})

	it('puts panels into more rows before cells become too small', () => {
		const x = Array.from({ length: 9 }, (_, index) => String(index))
		const panels = ['a', 'b', 'c', 'd', 'e'].map((title) => ({ title, cells: [x.map(() => 0)] }))
		const titles = placedTexts(draw({ ...metastable, x, y: ['1'], panels })).filter(({ text }) =>
			/^[a-e]$/.test(text),
		)
		expect(new Set(titles.map(({ y }) => y)).size).toBe(2)
	})

	it('describes the map for screen readers', () => {
		expect(draw(metastable).children[1]?.text).toBe(
			'20 seeds. runs that never recover, by load (across) and trigger, seconds (up). ' +
				'full jitter: of 6 cells 3 are 0 %, 1 are 100 %. budget: of 5 cells 4 are 0 %, 0 are 100 %.',
		)
	})
})
