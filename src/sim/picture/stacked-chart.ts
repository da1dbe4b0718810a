import { invalidOption } from '../../core/options/schema.ts'
import { panelsOf, type TimeChart } from './chart.ts'
import { stackedLayers } from './layers.ts'
import { timeChart } from './time-chart.ts'

/**
 * Parts of a whole over time as an SVG file, the first at the bottom: useful work, and on it the work that was wasted.
 *
 * @example
 * const svg = stackedChart({
 *   title: 'What the workers did',
 *   yLabel: 'answers/s',
 *   x: [0, 1, 2],
 *   series: [
 *     { name: 'goodput', values: [80, 20, 75] },
 *     { name: 'wasted', values: [0, 60, 5] },
 *   ],
 * })
 */
export function stackedChart(chart: TimeChart): string {
	checkStack(chart)
	return timeChart(chart, stackedLayers)
}

/** Refuses what can not be stacked: a part below zero would hide in those beneath it, and a stack has no room for bands. */
export function checkStack(chart: TimeChart): void {
	panelsOf(chart).forEach(({ series }, panel) => {
		const path = chart.panels ? `panels[${panel}].` : ''
		series.forEach(({ values, band }, at) => {
			const index = values.findIndex((value) => value !== null && value < 0)
			if (index >= 0)
				invalidOption(`${path}series[${at}].values[${index}]`, values[index], '0 or more in a stack')
			if (band) invalidOption(`${path}series[${at}].band`, band, 'nothing in a stack')
		})
	})
}
