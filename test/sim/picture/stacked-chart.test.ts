import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stackedChart } from '../../../src/sim/picture/stacked-chart.ts'
import { anyStack } from './any-chart.ts'
import { outage } from './charts.ts'
import { placedTexts, soundPicture } from './sound.ts'
import { ofClass, textsOf, type XmlElement } from './xml.ts'

const work = [
	{ name: 'goodput', values: [80, 20, 0, 0, 75, 80] },
	{ name: 'wasted', values: [0, 60, 0, 0, 5, 0] },
]

const points = (path: XmlElement | undefined): readonly (readonly [number, number])[] =>
	[...(path?.attributes['d'] ?? '').matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [
		Number(x),
		Number(y),
	])

describe('a stacked chart', () => {
	it('is sound whatever it is told', () => {
		fc.assert(
			fc.property(anyStack, (chart) => {
				soundPicture(stackedChart(chart))
			}),
			{ numRuns: 200 },
		)
	})

	it('puts every layer on top of the one before', () => {
		const root = soundPicture(stackedChart({ ...outage, series: work }))
		const [goodput = [], wasted = []] = ofClass(root, 'layer').map(points)
		expect(goodput).toHaveLength(12)
		// The upper edge from left to right, then the lower one back.
		expect(wasted.slice(6).toReversed()).toEqual(goodput.slice(0, 6))
		const [first, second] = [wasted[0]?.[1] ?? 0, wasted[1]?.[1] ?? 0]
		expect(second).toBe(first)
	})

	it('has an axis for the sum', () => {
		const series = [
			{ name: 'a', values: [300, 300, 300, 300, 300, 300] },
			{ name: 'b', values: [300, 300, 300, 300, 300, 300] },
		]
		expect(textsOf(soundPicture(stackedChart({ ...outage, series })))).toContain('600')
	})

	it('names layers beside where they end, the topmost first', () => {
		const series = [
			{ name: 'below', values: [1, 1, 1, 1, 1, 1] },
			{ name: 'above', values: [0, 0, 0, 0, 0, 0] },
		]
		const root = soundPicture(stackedChart({ ...outage, lines: [], series }))
		const yOf = (name: string): number => placedTexts(root).find(({ text }) => text === name)?.y ?? 0
		expect(yOf('above')).toBeLessThan(yOf('below'))
	})

	it('has one legend for several panels', () => {
		const panels = ['naive', 'budget'].map((title) => ({ title, series: work }))
		const root = soundPicture(stackedChart({ ...outage, panels }))
		expect(textsOf(root).filter((text) => text === 'goodput')).toHaveLength(1)
		expect(ofClass(root, 'layer').filter(({ name }) => name === 'path')).toHaveLength(4)
	})

	it('leaves out a layer where it is not known, and stacks the others on the rest', () => {
		const series = [
			{ name: 'a', values: [1, null, 1] },
			{ name: 'b', values: [1, 1, 1] },
		]
		const root = soundPicture(stackedChart({ title: 't', x: [0, 1, 2], series }))
		const [a, b] = ofClass(root, 'layer')
		expect(a?.attributes['d']?.match(/M/g)).toHaveLength(2)
		expect(b?.attributes['d']?.match(/M/g)).toHaveLength(1)
	})

	it('refuses a part below zero and a band, which it has no place for', () => {
		const below = { name: 'a', values: [0, -1] }
		expect(() => stackedChart({ title: 't', x: [0, 1], series: [below] })).toThrow(
			'series[0].values[1]: got -1; takes 0 or more in a stack',
		)
		const banded = { name: 'a', values: [0, 1], band: { low: [0, 0], high: [1, 1] } }
		expect(() => stackedChart({ title: 't', x: [0, 1], panels: [{ series: [banded] }] })).toThrow(
			'panels[0].series[0].band: got [object Object]; takes nothing in a stack',
		)
	})
})
