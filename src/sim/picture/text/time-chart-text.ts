/** Lays out a chart over time in a terminal: its head, one plot below the other, and a key of all marks at the end. */
import { checkChart, DEFAULT_X_LABEL, type Panel, panelsOf, type TimeChart } from '../chart.ts'
import { drawable } from '../scale.ts'
import { type Bars, drawBars, rowsFor } from './bars.ts'
import { type Columns, columnsOf } from './columns.ts'
import { marksFor } from './marks.ts'
import {
	headLines,
	type KeyEntry,
	keyLines,
	type Style,
	type TextOptions,
	terminalOf,
	textLines,
} from './terminal.ts'

/** One plot of characters. */
export interface TextPlot {
	readonly title: string
	readonly style?: Style | undefined
	readonly greatest: number
	/** What stands where, once it is known which points a column holds. */
	readonly draw: (columns: Columns) => Bars['cellAt']
}

/** Draws a chart whose panels become plots in the given way. */
export function timeChartText(
	chart: TimeChart,
	options: TextOptions | undefined,
	toPlots: (panel: Panel) => readonly TextPlot[],
	key: readonly KeyEntry[],
): string {
	checkChart(chart)
	const terminal = terminalOf(options)
	const { shades = [], xLabel = DEFAULT_X_LABEL } = chart
	const panels = panelsOf(chart).map((panel) => {
		const lines = [...(chart.lines ?? []), ...(panel.lines ?? [])]
		const plots = toPlots(panel)
		const heights = [
			...plots.map(({ greatest }) => greatest),
			...lines.map(({ value }) => drawable(value) ?? 0),
		]
		return { plots, lines, yLabel: panel.yLabel ?? chart.yLabel, greatest: Math.max(0, ...heights) }
	})
	const all = Math.max(...panels.map(({ greatest }) => greatest))
	const rowsOf = (greatest: number) => rowsFor(chart.scale === 'own' ? greatest : all)
	const labelWidth = Math.max(...panels.map(({ greatest }) => rowsOf(greatest).labelWidth))
	const columns = columnsOf(chart.x, terminal.width - labelWidth - 2)

	const marks = marksFor(
		panels.flatMap(({ lines }) => lines),
		shades,
	)
	const out = [...headLines(chart, terminal)]
	let said: string | undefined
	for (const { plots, lines, yLabel, greatest } of panels) {
		for (const plot of plots) {
			out.push('', ...textLines(plot.title, terminal, plot.style))
			if (yLabel !== said) out.push(...textLines(yLabel, terminal, 'dim'))
			said = yLabel
			if (columns.count === 0) {
				out.push('no data')
				continue
			}
			const { step } = rowsOf(greatest)
			const cellAt = plot.draw(columns)
			const bars = {
				step,
				labelWidth,
				columns,
				greatest: plot.greatest,
				cellAt,
				shades,
				lines,
				marks,
				xLabel,
			}
			out.push(...drawBars(bars, terminal))
		}
	}
	if (panels.every(({ plots }) => plots.length === 0)) out.push('', 'no data')
	const keys = keyLines([...key, ...marks.key], terminal)
	return [...out, ...(keys.length > 0 ? ['', ...keys] : [])].join('\n')
}
