/** One plot with its y axis, and the x axis that all plots of a chart share. */
import { decimalsFor, formatNumber } from '../../text/format.ts'
import { drawEndLabels, type EndLabel } from './end-labels.ts'
import { drawBands, type PlacedBand } from './fault-bands.ts'
import { PADDING, WIDTH } from './frame.ts'
import type { Layer, PlotContent } from './layers.ts'
import { type Extent, innerTicks, linearScale, type Scale, type Ticks } from './scale.ts'
import { FONT } from './stylesheet.ts'
import { coordinate, type Drawing, element, fitText, textAt, textWidth } from './svg.ts'
import { areaPath, dotsPath, linePath, type Projection } from './svg-path.ts'

/** The horizontal layout that all plots of a chart share. */
export interface PlotColumns {
	readonly left: number
	readonly right: number
	readonly xs: readonly number[]
	readonly toX: Scale
	readonly bands: readonly PlacedBand[]
}

/** What is labelled at the right of a plot, and the color class of each series. */
export interface PlotLabels {
	readonly series: boolean
	readonly references: boolean
	readonly colorOf: (name: string) => string
}

/** Draws a plot between `top` and `bottom`. */
export function drawPlot(
	content: PlotContent,
	{ left, right, xs, toX, bands }: PlotColumns,
	{ top, bottom }: { readonly top: number; readonly bottom: number },
	labels: PlotLabels,
): readonly string[] {
	const { layers, references, ticks } = content
	const { colorOf } = labels
	const toY = linearScale(ticks, bottom, top)
	const projection: Projection = { xs, toX, toY }
	const across = (kind: string, value: number): string =>
		element('path', { class: kind, d: `M${coordinate(left)} ${coordinate(toY(value))}H${coordinate(right)}` })
	const texts = tickTexts(ticks)
	return [
		...drawBands(bands, top, bottom - top),
		...ticks.values.filter((value) => value !== 0).map((value) => across('grid', value)),
		...ticks.values.map((value, index) =>
			textAt(left - 8, toY(value) + 4, 'small muted', texts[index] ?? '', 'end'),
		),
		...layers.flatMap((layer) => drawArea(layer, projection, colorOf(layer.name))),
		across('axis', 0),
		...references.map(({ value }) => across('reference', value)),
		...layers.flatMap((layer) => drawLine(layer, projection, colorOf(layer.name))),
		...(layers.every(({ end }) => end === undefined)
			? [textAt((left + right) / 2, (top + bottom) / 2, 'muted', 'no data', 'middle')]
			: []),
		...drawEndLabels(endLabels(content, toY, bottom, labels), { left: right, top, bottom }),
	]
}

function drawArea({ kind, area }: Layer, projection: Projection, color: string): readonly string[] {
	if (!area) return []
	const shape = kind === 'line' ? 'band' : 'layer'
	return [element('path', { class: `${shape} ${color}`, d: areaPath(area.low, area.high, projection) })]
}

/** A stack has no lines: a layer of height zero must not be visible. */
function drawLine({ kind, line }: Layer, projection: Projection, color: string): readonly string[] {
	const paths = kind === 'line' ? { line: linePath(line, projection), dot: dotsPath(line, projection) } : {}
	return Object.entries(paths)
		.filter(([, d]) => d !== '')
		.map(([shape, d]) => element('path', { class: `${shape} ${color}`, d }))
}

function endLabels(
	{ layers, references }: PlotContent,
	toY: Scale,
	bottom: number,
	labels: PlotLabels,
): readonly EndLabel[] {
	const names = layers.map(({ name, end }): EndLabel => {
		const y = end === undefined ? bottom : toY(end)
		return { text: name, y, color: labels.colorOf(name), kind: 'series' }
	})
	const levels = references.map(({ value, label }): EndLabel => {
		return { text: label, y: toY(value), color: 'axis', kind: 'reference' }
	})
	// The topmost layer of a stack is the last one; at equal heights its label must come first.
	return [...(labels.references ? levels : []), ...(labels.series ? names.toReversed() : [])]
}

function tickTexts({ values, step }: Ticks): readonly string[] {
	return values.map((value) => formatNumber(value, decimalsFor(step)))
}

/** Returns the width of the widest number of an axis. */
export const tickTextWidth = (ticks: Ticks): number =>
	Math.max(0, ...tickTexts(ticks).map((text) => textWidth(text, FONT.small)))

/** Draws the axis below the last plot. */
export function drawXAxis(extent: Extent, columns: PlotColumns, top: number, label: string): Drawing {
	const { left, right, toX } = columns
	const ticks = xTicks(extent, right - left)
	const texts = tickTexts(ticks)
	const marks = ticks.values.flatMap((value, index) => {
		const x = toX(value)
		const text = texts[index] ?? ''
		// A long number at either end must stay within the chart.
		const half = textWidth(text, FONT.small) / 2
		const middle = Math.max(half + 2, Math.min(WIDTH - half - 2, x))
		return [
			element('path', { class: 'axis', d: `M${coordinate(x)} ${coordinate(top)}v4` }),
			textAt(middle, top + 17, 'small muted', text, 'middle'),
		]
	})
	const name = fitText(label, right - PADDING, FONT.small)
	return { marks: [...marks, textAt(right, top + 33, 'small muted', name, 'end')], bottom: top + 36 }
}

/** Returns as many ticks as their numbers leave room for. */
function xTicks(extent: Extent, width: number): Ticks {
	let maxTicks = Math.max(1, Math.floor(width / 70))
	let ticks = innerTicks(extent, maxTicks)
	const distance = (): number => (ticks.step / (extent.max - extent.min)) * width
	// Times 1.5 because the numbers at the ends may have moved inwards.
	while (maxTicks > 1 && tickTextWidth(ticks) * 1.5 > distance()) ticks = innerTicks(extent, --maxTicks)
	return ticks
}
