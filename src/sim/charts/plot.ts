/** One plot with its y axis, and the x axis that all plots of a chart share. A timeline has at most 240 steps, so every value is drawn. */
import { decimalsFor, formatNumber } from '../../text/format.ts'
import type { FaultBand, Values } from './chart-data.ts'
import { drawEndLabels, type EndLabel } from './end-labels.ts'
import { PADDING, WIDTH } from './frame.ts'
import type { PlotContent } from './layers.ts'
import { type Extent, innerTicks, isDrawable, linearScale, type Scale, type Ticks } from './scale.ts'
import { FONT } from './stylesheet.ts'
import { coordinate, type Drawing, element, fitText, textAt, textWidth } from './svg.ts'

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

export function drawPlot(
	content: PlotContent,
	{ left, right, xs, toX, bands }: PlotColumns,
	{ top, bottom }: { readonly top: number; readonly bottom: number },
	labels: PlotLabels,
): readonly string[] {
	const { layers, references, ticks } = content
	const { colorOf } = labels
	const toY = linearScale(ticks, bottom, top)
	const segments = (values: Values) => splitAtGaps(values, { xs, toX }, toY)
	const across = (kind: string, value: number): string =>
		element('path', { class: kind, d: `M${coordinate(left)} ${coordinate(toY(value))}H${coordinate(right)}` })
	const texts = tickTexts(ticks)
	return [
		...drawBands(bands, top, bottom - top),
		...ticks.values.filter((value) => value !== 0).map((value) => across('grid', value)),
		...ticks.values.map((value, index) =>
			textAt(left - 8, toY(value) + 4, 'small muted', texts[index] ?? '', 'end'),
		),
		...layers.flatMap(({ name, kind, area }) => {
			const shape = kind === 'line' ? 'band' : 'layer'
			return area
				? [element('path', { class: `${shape} ${colorOf(name)}`, d: areaPath(area, segments) })]
				: []
		}),
		across('axis', 0),
		...references.map(({ value }) => across('reference', value)),
		// A stack has no lines: a layer of height zero must not be visible.
		...layers
			.filter(({ kind }) => kind === 'line')
			.flatMap(({ name, line }) => drawLine(segments(line), colorOf(name))),
		...(layers.every(({ end }) => end === undefined)
			? [textAt((left + right) / 2, (top + bottom) / 2, 'muted', 'no data', 'middle')]
			: []),
		...drawEndLabels(endLabels(content, toY, bottom, labels), { left: right, top, bottom }),
	]
}

/** Draws a line through each segment; a value between two gaps is a dot: a stroke of length zero with round ends. */
function drawLine(segments: readonly Segment[], color: string): readonly string[] {
	const line = segments.filter(({ length }) => length > 1).map(path)
	const dot = segments.filter(({ length }) => length === 1).map((segment) => `${path(segment)}h0`)
	return Object.entries({ line, dot })
		.filter(([, paths]) => paths.length > 0)
		.map(([shape, paths]) => element('path', { class: `${shape} ${color}`, d: paths.join('') }))
}

/** Returns the area between two lists, interrupted where either has a gap. A value between two gaps is a thin bar. */
function areaPath(
	{ low, high }: { readonly low: Values; readonly high: Values },
	segments: (values: Values) => readonly Segment[],
): string {
	const hasBoth = low.map((value, index) => isDrawable(value) && isDrawable(high[index]))
	const [bottoms = [], tops = []] = [low, high].map((values) =>
		segments(values.map((value, index) => (hasBoth[index] ? value : null))).map(widened),
	)
	return tops.map((top, index) => `${path([...top, ...(bottoms[index] ?? []).toReversed()])}Z`).join('')
}

function widened(points: Segment): Segment {
	const [only, second] = points
	if (!only || second) return points
	return [-1, 1].map((offset) => ({ ...only, x: only.x + offset }))
}

type Segment = readonly { readonly x: number; readonly y: number }[]

function splitAtGaps(
	values: Values,
	{ xs, toX }: Pick<PlotColumns, 'xs' | 'toX'>,
	toY: Scale,
): readonly Segment[] {
	const found: { x: number; y: number }[][] = [[]]
	for (const [index, value] of values.entries()) {
		const x = xs[index]
		if (x === undefined || !isDrawable(value)) found.push([])
		else found.at(-1)?.push({ x: toX(x), y: toY(value) })
	}
	return found.filter((segment) => segment.length > 0)
}

const path = (points: Segment): string =>
	points.map(({ x, y }, index) => `${index ? 'L' : 'M'}${coordinate(x)} ${coordinate(y)}`).join('')

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

export const tickTextWidth = (ticks: Ticks): number =>
	Math.max(0, ...tickTexts(ticks).map((text) => textWidth(text, FONT.small)))

export function drawXAxis(
	extent: Extent,
	{ left, right, toX }: Pick<PlotColumns, 'left' | 'right' | 'toX'>,
	top: number,
	label: string,
): Drawing {
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

function xTicks(extent: Extent, width: number): Ticks {
	let maxTicks = Math.max(1, Math.floor(width / 70))
	let ticks = innerTicks(extent, maxTicks)
	const distance = (): number => (ticks.step / (extent.max - extent.min)) * width
	// Times 1.5 because the numbers at the ends may have moved inwards.
	while (maxTicks > 1 && tickTextWidth(ticks) * 1.5 > distance()) ticks = innerTicks(extent, --maxTicks)
	return ticks
}

export interface PlacedBand {
	readonly label: string
	readonly x: number
	readonly width: number
}

const ROW = 15

/** Returns the visible bands, cut to the x axis. A fault without duration is one pixel wide. */
export function placeBands(
	bands: readonly FaultBand[],
	{ min, max }: Extent,
	toX: Scale,
): readonly PlacedBand[] {
	return bands
		.filter(({ from, to }) => from <= max && to >= min)
		.map(({ from, to, label }) => {
			const [x, end] = [toX(Math.max(min, from)), toX(Math.min(max, to))]
			return { label, x, width: Math.max(1, end - x) }
		})
}

const drawBands = (bands: readonly PlacedBand[], top: number, height: number): readonly string[] =>
	bands.map(({ x, width }) => element('rect', { class: 'shade', x, y: top, width, height }))

/** Puts each label above the middle of its band, in another row if it would overlap a label there. */
export function drawBandLabels(
	bands: readonly PlacedBand[],
	top: number,
	{ left, right }: { readonly left: number; readonly right: number },
): Drawing {
	const rowEnds: number[] = []
	const labels = bands
		.toSorted((a, b) => a.x - b.x)
		.map(({ label, x, width }) => {
			const text = fitText(label, right - left, FONT.small)
			const half = textWidth(text, FONT.small) / 2
			const middle = Math.max(left + half, Math.min(right - half, x + width / 2))
			const free = rowEnds.findIndex((end) => end < middle - half - 6)
			const row = free < 0 ? rowEnds.length : free
			rowEnds[row] = middle + half
			return { text, middle, row }
		})
	const bottom = top + rowEnds.length * ROW
	// The first row is the lowest, so that most labels are next to their band.
	const marks = labels.map(({ text, middle, row }) =>
		textAt(middle, bottom - row * ROW - 2, 'small muted', text, 'middle'),
	)
	return { marks, bottom }
}
