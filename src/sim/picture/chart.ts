/**
 * What a chart over time is told: plain lists over one common x, so that anything can be drawn and not only the
 * simulator's results. Lists of unequal length are refused and not cut, for that is a mistake of whoever made them; a
 * value that is no number is a gap, for a mean of nothing is one.
 */
import { checkRange, invalidOption } from '../../core/options/schema.ts'

/** One for each x. Null and whatever is not finite is a gap. */
export type Values = readonly (number | null)[]

/** One line, or one layer of a stack. */
export interface Series {
	readonly name: string
	readonly values: Values
	/** The range of several runs around the line. A stack has none. */
	readonly band?: { readonly low: Values; readonly high: Values } | undefined
}

/** A stretch of time that something was the matter in. */
export interface Shade {
	readonly from: number
	/** Infinity for one that has not ended. */
	readonly to: number
	readonly label?: string | undefined
}

/** A level to compare with, such as a capacity. */
export interface ReferenceLine {
	readonly value: number
	readonly label: string
}

/** One of several plots, one below the other over the same x. */
export interface Panel {
	/** Default: the name of its series, if it has only one. */
	readonly title?: string | undefined
	readonly series: readonly Series[]
	/** Default: the chart's. */
	readonly yLabel?: string | undefined
	/** In addition to the chart's. */
	readonly lines?: readonly ReferenceLine[] | undefined
}

/** A title, an axis of time, and what is drawn over it: `series` in one plot or `panels` in several. */
export type TimeChart = ChartFrame & (OnePlot | SeveralPlots)

interface OnePlot {
	readonly series: readonly Series[]
	readonly panels?: undefined
}

interface SeveralPlots {
	readonly panels: readonly Panel[]
	readonly series?: undefined
}

export interface ChartFrame {
	readonly title: string
	readonly subtitle?: string | undefined
	/** Where the values are, in ascending order; mostly seconds. */
	readonly x: readonly number[]
	/** Default `'seconds'`. */
	readonly xLabel?: string | undefined
	readonly yLabel?: string | undefined
	/** What bands stand for, such as `'range of 20 seeds'`. */
	readonly bandLabel?: string | undefined
	readonly shades?: readonly Shade[] | undefined
	/** In every panel. */
	readonly lines?: readonly ReferenceLine[] | undefined
	/** Whether panels share one y axis, so that they can be compared, or have their own. Default `'common'`. */
	readonly scale?: 'common' | 'own' | undefined
}

export const DEFAULT_X_LABEL = 'seconds'

/** The panels of a chart, whichever way it was told, and never none: an empty chart is still a plot. */
export function panelsOf({ panels = [], series = [] }: TimeChart): readonly Panel[] {
	return panels.length > 0 ? panels : [{ title: '', series }]
}

/** What stands above a panel. */
export const panelTitle = ({ title, series }: Panel): string =>
	title ?? (series.length === 1 ? (series[0]?.name ?? '') : '')

/** Every name of a series once, in the order in which they appear. A name has the same colour in every panel. */
export function seriesNames(panels: readonly Panel[]): readonly string[] {
	return [...new Set(panels.flatMap(({ series }) => series.map(({ name }) => name)))]
}

/** Refuses what can not be drawn, by the path to it. */
export function checkChart(chart: TimeChart): void {
	checkX(chart.x)
	chart.shades?.forEach(checkShade)
	checkLines('lines', chart.lines)
	panelsOf(chart).forEach((panel, index) => {
		const path = chart.panels ? `panels[${index}].` : ''
		checkLines(`${path}lines`, panel.lines)
		panel.series.forEach((series, at) => {
			checkSeries(`${path}series[${at}]`, series, chart.x.length)
		})
	})
}

/** Farther out, neighbouring seconds are the same number. */
const FARTHEST = 1e15

function checkX(x: readonly number[]): void {
	x.forEach((value, index) => {
		const before = x[index - 1]
		checkRange(`x[${index}]`, value, -FARTHEST, FARTHEST)
		if (before !== undefined && value <= before)
			invalidOption(`x[${index}]`, value, `a number above the one before it, ${before}`)
	})
}

function checkShade({ from, to }: Shade, index: number): void {
	if (Number.isNaN(from)) invalidOption(`shades[${index}].from`, from, 'a number')
	if (!(to >= from)) invalidOption(`shades[${index}].to`, to, `a number, ${from} or more`)
}

function checkLines(path: string, lines: readonly ReferenceLine[] = []): void {
	lines.forEach(({ value }, index) => {
		if (!Number.isFinite(value)) invalidOption(`${path}[${index}].value`, value, 'a finite number')
	})
}

function checkSeries(path: string, { values, band }: Series, length: number): void {
	const lists = { values, ...(band && { 'band.low': band.low, 'band.high': band.high }) }
	for (const [name, list] of Object.entries(lists)) {
		if (list.length !== length)
			invalidOption(`${path}.${name}.length`, list.length, `${length}, one for each x`)
	}
}
