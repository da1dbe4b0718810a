/**
 * Layers in a terminal, each with a character of its own. Only the lowest can end in an eighth of a block; a cell that
 * several layers share shows the one that takes most of it.
 */
import { type Panel, panelsOf, panelTitle, seriesNames, type TimeChart } from '../chart.ts'
import { drawable } from '../scale.ts'
import { checkStack } from '../stacked-chart.ts'
import { block } from './bars.ts'
import { type Cell, type KeyEntry, seriesStyle, type TextOptions } from './terminal.ts'
import { type TextPlot, timeChartText } from './time-chart-text.ts'

const LAYERS = '█▒░▞+o'

/**
 * A stacked chart as text, one plot for each panel.
 *
 * @example
 * console.log(stackedText({
 *   title: 'What the workers did',
 *   x: [0, 1, 2],
 *   series: [{ name: 'goodput', values: [80, 20, 75] }, { name: 'wasted', values: [0, 60, 5] }],
 * }))
 */
export function stackedText(chart: TimeChart, options?: TextOptions): string {
	checkStack(chart)
	const names = seriesNames(panelsOf(chart))
	const looks = names.map((name, index): KeyEntry => {
		return { text: LAYERS.charAt(index % LAYERS.length), style: seriesStyle(index), name }
	})
	const toPlots = (panel: Panel) => (panel.series.length === 0 ? [] : [plotOf(panel, looks)])
	return timeChartText(chart, options, toPlots, looks)
}

function plotOf(panel: Panel, looks: readonly KeyEntry[]): TextPlot {
	const { series } = panel
	const partsAt = (index: number): readonly number[] =>
		series.map(({ values }) => drawable(values[index]) ?? 0)
	const totalAt = (index: number): number => partsAt(index).reduce((sum, part) => sum + part, 0)
	const cells = series.map(({ name }): Cell => looks.find((look) => look.name === name) ?? { text: ' ' })
	return {
		title: panelTitle(panel),
		style: 'bold',
		greatest: (series[0]?.values ?? []).reduce<number>((most, _, index) => Math.max(most, totalAt(index)), 0),
		draw: ({ points }) => {
			// Of several points the one with the greatest total, whole: parts of different points would not add up.
			const parts = points.map((indexes) => {
				const greatest = indexes.reduce(
					(best, index) => (totalAt(index) > totalAt(best) ? index : best),
					indexes[0] ?? 0,
				)
				return partsAt(greatest)
			})
			return (column, low, high) => cellOf(parts[column] ?? [], cells, low, high)
		},
	}
}

function cellOf(parts: readonly number[], cells: readonly Cell[], low: number, high: number): Cell {
	let bottom = 0
	const shares = parts.map((part) => {
		const top = bottom + part
		const share = Math.max(0, Math.min(high, top) - Math.max(low, bottom)) / (high - low)
		bottom = top
		return share
	})
	const filled = shares.reduce((sum, share) => sum + share, 0)
	const most = shares.indexOf(Math.max(...shares))
	const cell = cells[most]
	if (!cell) return { text: ' ' }
	if (most === 0) return { ...cell, text: block(filled) }
	return filled >= 0.5 ? cell : { text: ' ' }
}
