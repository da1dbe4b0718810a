/** A small chart to begin with. */
import type { ChartFrame, Series } from '../../../src/sim/picture/chart.ts'

export const outage = {
	title: 'Calls that the service was sent',
	subtitle: 'down for two seconds',
	yLabel: 'calls/s',
	x: [0, 1, 2, 3, 4, 5],
	shades: [{ from: 1, to: 3, label: 'outage' }],
	lines: [{ value: 100, label: 'capacity' }],
} satisfies ChartFrame

export const naive: Series = { name: 'naive', values: [50, 120, 260, 390, 380, 370] }
export const jittered: Series = { name: 'full jitter', values: [50, 80, 110, 130, 90, 50] }
