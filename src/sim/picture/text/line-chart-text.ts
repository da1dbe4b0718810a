/**
 * Lines in a terminal. Two lines in one plot of characters can be told apart by colour at best, so every series has a plot
 * of its own, all on one scale: that also works in a file and for those who see no colours.
 */
import {
	type Panel,
	panelsOf,
	panelTitle,
	type Series,
	seriesNames,
	type TimeChart,
	type Values,
} from '../chart.ts'
import { drawable, extentFromZero } from '../scale.ts'
import { block } from './bars.ts'
import type { Columns } from './columns.ts'
import { type KeyEntry, type Style, seriesStyle, type TextOptions } from './terminal.ts'
import { type TextPlot, timeChartText } from './time-chart-text.ts'

const BAND = '░'

/**
 * A line chart as text, one plot for each series. Bands are drawn above the line only, and what lies below zero is not.
 *
 * @example
 * console.log(lineChartText(chart, { width: process.stdout.columns, colour: process.stdout.isTTY }))
 */
export function lineChartText(chart: TimeChart, options?: TextOptions): string {
	const names = seriesNames(panelsOf(chart))
	const hasBand = panelsOf(chart).some(({ series }) => series.some(({ band }) => band))
	const key: readonly KeyEntry[] = hasBand && chart.bandLabel ? [{ text: BAND, name: chart.bandLabel }] : []
	const toPlots = (panel: Panel): readonly TextPlot[] =>
		panel.series.map((series) => plotOf(panel, series, seriesStyle(names.indexOf(series.name))))
	return timeChartText(chart, options, toPlots, key)
}

function plotOf(panel: Panel, { name, values, band }: Series, style: Style): TextPlot {
	const title = panelTitle(panel)
	return {
		title: title === '' || title === name ? name : `${title}: ${name}`,
		style,
		greatest: extentFromZero([values, band?.high ?? []]).greatest,
		draw: (columns) => {
			const heights = greatestIn(columns, values)
			const highs = band ? greatestIn(columns, band.high) : []
			return (column, low, high) => {
				const text = block(((heights[column] ?? low) - low) / (high - low))
				// A character can not be half line and half band: the band begins in the first cell that the line leaves free.
				const isBand = text === ' ' && (highs[column] ?? low) - low >= (high - low) / 2
				return { text: isBand ? BAND : text, style }
			}
		},
	}
}

/** By column; undefined where all is a gap. */
function greatestIn({ points }: Columns, values: Values): readonly (number | undefined)[] {
	return points.map((indexes) => {
		const known = indexes.flatMap((index) => drawable(values[index]) ?? [])
		return known.reduce<number | undefined>((most, value) => Math.max(most ?? value, value), undefined)
	})
}
