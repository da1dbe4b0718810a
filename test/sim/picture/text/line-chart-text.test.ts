import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TimeChart } from '../../../../src/sim/picture/chart.ts'
import { displayWidth } from '../../../../src/sim/picture/text/display-width.ts'
import { lineChartText } from '../../../../src/sim/picture/text/line-chart-text.ts'
import { anyLineChart } from '../any-chart.ts'
import { jittered, naive, outage } from '../charts.ts'

/** A drawing without the line ends around it, which are only there to make it readable here. */
const drawing = (text: string): string => text.slice(1, -1)

describe('a line chart in a terminal', () => {
	it('has a plot for each series on one scale, with the outage marked below', () => {
		expect(lineChartText({ ...outage, series: [naive, jittered] }, { width: 60 })).toBe(
			drawing(`
Calls that the service was sent
down for two seconds

naive
calls/s
   400 ┤            ▆▆▆▆▅▅▅▅▃▃▃▃
   350 ┤            ████████████
   300 ┤        ▂▂▂▂████████████
   250 ┤        ████████████████
   200 ┤        ████████████████
   150 ┤    ▃▃▃▃████████████████
   100 ┤┈┈┈┈████████████████████
    50 ┤████████████████████████
       └────××××××××────────────
        0       2       4       6 seconds

full jitter
   150 ┤        ▂▂▂▂▅▅▅▅
   100 ┤┈┈┈┈▅▅▅▅████████▆▆▆▆┈┈┈┈
    50 ┤████████████████████████
       └────××××××××────────────
        0       2       4       6 seconds

┈ capacity   × outage
`),
		)
	})

	it('draws what a band reaches above the line, and says what it is', () => {
		const band = { low: [1, 1, 1, 1], high: [2, 4, 6, 8] }
		const chart = {
			title: 'Waits',
			x: [0, 1, 2, 3],
			bandLabel: 'most of 20 seeds',
			series: [{ name: 'a', values: [1, 2, 2, 4], band }],
		}
		expect(lineChartText(chart)).toBe(
			drawing(`
Waits

a
     8 ┤            ░░░░
     7 ┤            ░░░░
     6 ┤        ░░░░░░░░
     5 ┤        ░░░░░░░░
     4 ┤    ░░░░░░░░████
     3 ┤    ░░░░░░░░████
     2 ┤░░░░████████████
     1 ┤████████████████
       └────────────────
        0       2       4 seconds

░ most of 20 seeds
`),
		)
	})

	it('shows the greatest of the points that share a column: no spike is lost', () => {
		const x = Array.from({ length: 600 }, (_, index) => index)
		const values = x.map((second) => (second === 333 ? 100 : 1))
		const lines = lineChartText({ title: 't', x, series: [{ name: 'a', values }] }, { width: 50 }).split('\n')
		expect(lines.find((line) => line.includes('100 ┤'))).toContain('█')
	})

	it('leaves gaps empty and takes what lies below zero for nothing', () => {
		const series = [{ name: 'a', values: [1, Number.NaN, null, -5, 1] }]
		const lines = lineChartText({ title: 't', x: [0, 1, 2, 3, 4], series }).split('\n')
		expect(lines).toContain('   1.0 ┤████            ████')
	})

	it('gives each name of a shade a mark of its own', () => {
		const shades = [
			{ from: 0, to: 1, label: 'outage' },
			{ from: 2, to: 3, label: 'slow' },
			{ from: 4, to: 5, label: 'outage' },
			{ from: 5.5, to: 5.5 },
		]
		const lines = lineChartText({ ...outage, shades, series: [jittered] }).split('\n')
		expect(lines).toContain('       └××××────!!!!────××××──~─')
		expect(lines.at(-1)).toBe('┈ capacity   × outage   ! slow')
	})

	it('names the panel before the series where they differ', () => {
		const panels = [{ title: 'herd', series: [naive, jittered] }, { series: [jittered] }]
		const lines = lineChartText({ ...outage, panels }).split('\n')
		expect(lines).toEqual(expect.arrayContaining(['herd: naive', 'herd: full jitter', 'full jitter']))
	})

	it('scales panels on their own on demand', () => {
		const panels = [{ series: [naive] }, { series: [{ name: 'small', values: [1, 2, 3, 4, 5, 6] }] }]
		const chart: TimeChart = { ...outage, lines: [], panels }
		expect(lineChartText(chart)).not.toContain('     6 ┤')
		expect(lineChartText({ ...chart, scale: 'own' })).toContain('     6 ┤')
	})

	it('is never wider than the terminal, and has nothing in it that a terminal would obey', () => {
		fc.assert(
			fc.property(anyLineChart, fc.integer({ min: 20, max: 120 }), (chart, width) => {
				const text = lineChartText(chart, { width })
				expect(text).not.toMatch(/(?!\n)\p{Cc}/u)
				for (const line of text.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(width)
			}),
		)
	})

	it('says the same with colours and without', () => {
		const chart = { ...outage, series: [naive, jittered] }
		const painted = lineChartText(chart, { colour: true })
		expect(painted).toContain('\x1b[36mnaive\x1b[0m')
		expect(painted).toContain('\x1b[33mfull jitter\x1b[0m')
		expect(stripVTControlCharacters(painted)).toBe(lineChartText(chart))
	})

	it.each<[string, TimeChart]>([
		['no time', { title: 't', x: [], series: [{ name: 'a', values: [] }] }],
		['no series', { title: 't', x: [0], series: [] }],
	])('%s: says so', (_, chart) => expect(lineChartText(chart)).toContain('no data'))

	it('one point, and all zeros, are a plot', () => {
		expect(lineChartText({ title: 't', x: [5], series: [{ name: 'a', values: [3] }] })).toContain('┤████')
		expect(lineChartText({ title: 't', x: [0, 1], series: [{ name: 'a', values: [0, 0] }] })).toContain(
			'     1 ┤\n',
		)
	})

	it('refuses a terminal that is too narrow, by name', () => {
		expect(() => lineChartText({ ...outage, series: [] }, { width: 10 })).toThrow(
			'width: got 10; takes a finite number, 20 or more',
		)
	})
})
