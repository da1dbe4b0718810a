import type { TimeChart } from './chart.ts'
import { lineLayers } from './layers.ts'
import { timeChart } from './time-chart.ts'

/**
 * Lines over time as an SVG file, each with the range of its runs around it if it has one.
 *
 * @example
 * const svg = lineChart({
 *   title: 'Calls that the service was sent',
 *   yLabel: 'calls/s',
 *   x: [0, 1, 2, 3],
 *   series: [{ name: 'full jitter', values: [50, 120, 90, 50] }],
 *   shades: [{ from: 1, to: 2, label: 'outage' }],
 *   lines: [{ value: 100, label: 'capacity' }],
 * })
 */
export function lineChart(chart: TimeChart): string {
	return timeChart(chart, lineLayers)
}
