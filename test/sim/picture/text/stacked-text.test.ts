import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { displayWidth } from '../../../../src/sim/picture/text/display-width.ts'
import { stackedText } from '../../../../src/sim/picture/text/stacked-text.ts'
import { anyStack } from '../any-chart.ts'
import { outage } from '../charts.ts'

const work = [
	{ name: 'goodput', values: [80, 20, 0, 0, 35, 80] },
	{ name: 'wasted', values: [0, 60, 0, 0, 45, 0] },
]

describe('a stacked chart in a terminal', () => {
	it('has a character for each layer and a plot for each panel', () => {
		const panels = [
			{ title: 'naive', series: work },
			{
				title: 'budget',
				series: work.map((one) => ({ ...one, values: one.values.map((value) => value / 2) })),
			},
		]
		expect(stackedText({ ...outage, panels })).toBe(
			`
Calls that the service was sent
down for two seconds

naive
calls/s
   100 ┤┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈
    90 ┤
    80 ┤████▒▒▒▒        ▒▒▒▒████
    70 ┤████▒▒▒▒        ▒▒▒▒████
    60 ┤████▒▒▒▒        ▒▒▒▒████
    50 ┤████▒▒▒▒        ▒▒▒▒████
    40 ┤████▒▒▒▒        ████████
    30 ┤████▒▒▒▒        ████████
    20 ┤████████        ████████
    10 ┤████████        ████████
       └────××××××××────────────
        0       2       4       6 seconds

budget
   100 ┤┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈
    90 ┤
    80 ┤
    70 ┤
    60 ┤
    50 ┤
    40 ┤████▒▒▒▒        ▒▒▒▒████
    30 ┤████▒▒▒▒        ▒▒▒▒████
    20 ┤████▒▒▒▒        ████████
    10 ┤████████        ████████
       └────××××××××────────────
        0       2       4       6 seconds

█ goodput   ▒ wasted   ┈ capacity   × outage
`.slice(1, -1),
		)
	})

	it('ends the lowest layer in eighths where nothing lies on it', () => {
		const series = [{ name: 'goodput', values: [1, 4, 8, 9] }]
		const lines = stackedText({
			title: 't',
			x: [0, 1, 2, 3],
			lines: [{ value: 80, label: 'l' }],
			series,
		}).split('\n')
		expect(lines).toContain('    10 ┤▁▁▁▁▃▃▃▃▆▆▆▆▇▇▇▇')
	})

	it('shows of points that share a column the one with the greatest sum, whole', () => {
		const x = Array.from({ length: 100 }, (_, index) => index)
		const series = [
			{ name: 'goodput', values: x.map((second) => (second === 50 ? 10 : 40)) },
			{ name: 'wasted', values: x.map((second) => (second === 50 ? 90 : 0)) },
		]
		const lines = stackedText({ title: 't', x, series }, { width: 28 }).split('\n')
		expect(lines.find((line) => line.includes(' 20 ┤'))).toMatch(/^ {4}20 ┤█+▒█+$/)
	})

	it('is never wider than the terminal', () => {
		fc.assert(
			fc.property(anyStack, fc.integer({ min: 20, max: 120 }), (chart, width) => {
				for (const line of stackedText(chart, { width }).split('\n')) {
					expect(displayWidth(line)).toBeLessThanOrEqual(width)
				}
			}),
		)
	})

	it('says that there is no data where there is none', () => {
		expect(stackedText({ title: 't', x: [0], series: [] })).toBe('t\n\nno data')
	})

	it('refuses what can not be stacked', () => {
		expect(() => stackedText({ title: 't', x: [0], series: [{ name: 'a', values: [-2] }] })).toThrow(
			'series[0].values[0]: got -2; takes 0 or more in a stack',
		)
	})
})
