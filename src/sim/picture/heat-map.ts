/**
 * Draws a heat map: panels side by side as far as their cells stay large enough to be read, all by the same colours.
 * Eleven steps instead of a smooth ramp, so that a reader finds a cell's colour in the legend again and the stylesheet can
 * hold one for light and one for dark.
 */
import { element, textAt } from './element.ts'
import { heading, PADDING, type Placed, picture, WIDTH } from './frame.ts'
import {
	axisText,
	checkHeatMap,
	DEFAULT_UNKNOWN_LABEL,
	describeHeatMap,
	type HeatMap,
	type HeatPanel,
	hasUnknown,
	percent,
	shareAt,
} from './heat-chart.ts'
import { RAMP_STEPS } from './palette.ts'
import { FONT } from './stylesheet.ts'
import { inPixels, shortened, textWidth, wrapped } from './text-width.ts'

/** The sizes that all panels of a map share. */
interface Grid {
	/** Panels in a row. */
	readonly perRow: number
	/** For the numbers of the y axis, and its name. */
	readonly margin: number
	readonly cellWidth: number
	readonly cellHeight: number
	/** At least as wide as its cells, and as a title needs. */
	readonly panelWidth: number
	readonly titles: readonly (readonly string[])[]
	readonly titleHeight: number
}

const BETWEEN = 22
const TITLE_ROW = 16
const AXIS_NAME = 18
const READABLE = 24
const WIDEST_CELL = 52
const NARROWEST = 130
const LONGEST_Y = 160
/** The name of the y axis may be longer than the axis: left of the titles and of the x axis nothing stands. */
const ABOVE_AND_BELOW = 50

/**
 * A heat map as an SVG file.
 *
 * @example
 * const svg = heatMap({
 *   title: 'Metastable failure',
 *   x: [0.5, 0.7, 0.9],
 *   y: [1, 10],
 *   xLabel: 'load',
 *   yLabel: 'trigger, seconds',
 *   valueLabel: 'runs that never recover',
 *   panels: [{ title: 'full jitter', cells: [[0, 0, 0.4], [0, 0.9, 1]] }],
 * })
 */
export function heatMap(map: HeatMap): string {
	checkHeatMap(map)
	const grid = layOut(map)
	const head = heading(map.title, map.subtitle, [])
	const scale = scaleLegend(map, head.bottom)
	const marks = [...head.marks, ...scale.marks]
	let y = scale.bottom + 14
	for (let from = 0; from < map.panels.length; from += grid.perRow) {
		const row = drawRow(map, grid, from, y)
		marks.push(...row.marks)
		y = row.bottom + BETWEEN
	}
	const isEmpty = map.panels.length === 0 || map.x.length === 0 || map.y.length === 0
	if (isEmpty) marks.push(textAt(PADDING, y, 'muted', 'no data'))
	return picture({ title: map.title, description: describeHeatMap(map) }, y, marks)
}

function layOut({ x, y, panels }: HeatMap): Grid {
	const margin = AXIS_NAME + Math.max(0, ...y.map((value) => textWidth(yText(value), FONT.small))) + 6
	const room = WIDTH - 2 * PADDING - margin
	const columns = Math.max(1, x.length)
	const roomOf = (perRow: number): number => (room - (perRow - 1) * BETWEEN) / perRow
	const narrowest = Math.max(NARROWEST, READABLE * columns)
	let perRow = Math.max(1, Math.min(4, panels.length))
	while (perRow > 1 && roomOf(perRow) < narrowest) perRow--
	const cellWidth = Math.min(WIDEST_CELL, roomOf(perRow) / columns)
	const cellHeight = Math.max(14, Math.min(26, cellWidth))
	// Bold text is wider than the estimate.
	const panelWidth = Math.max(NARROWEST, cellWidth * columns)
	const titles = panels.map(({ title }) => wrapped(title, panelWidth / 1.1, inPixels(FONT.label)))
	const titleHeight = Math.max(0, ...titles.map((lines) => lines.length)) * TITLE_ROW + 4
	return { perRow, margin, cellWidth, cellHeight, panelWidth, titles, titleHeight }
}

/** The panels beside each other that begin with the one at `from`. */
function drawRow(map: HeatMap, grid: Grid, from: number, top: number): Placed {
	const { perRow, margin, cellHeight, panelWidth, titles, titleHeight } = grid
	const height = map.y.length * cellHeight
	const [left, cellsTop] = [PADDING + margin, top + titleHeight]
	const distance = panelWidth + BETWEEN
	const marks = yAxis(map, grid, cellsTop, height)
	map.panels.slice(from, from + perRow).forEach((panel, index) => {
		const x = left + index * distance
		const lines = titles[from + index] ?? []
		const firstLine = cellsTop - 8 - (lines.length - 1) * TITLE_ROW
		marks.push(
			...lines.map((line, at) => textAt(x, firstLine + at * TITLE_ROW, 'strong', line)),
			...drawCells(map, panel, grid, x, cellsTop),
			...xAxis(map, grid, x, cellsTop + height),
		)
	})
	return { marks, bottom: cellsTop + height + 34 }
}

const yText = (value: number | string): string => shortened(axisText(value), LONGEST_Y, inPixels(FONT.small))

function yAxis({ y, yLabel }: HeatMap, { margin, cellHeight }: Grid, top: number, height: number): string[] {
	const right = PADDING + margin - 6
	const numbers = y.map((value, row) =>
		textAt(right, top + height - (row + 0.5) * cellHeight + 4, 'small muted', yText(value), 'end'),
	)
	const name = shortened(yLabel, height + ABOVE_AND_BELOW, inPixels(FONT.small))
	const turned = element(
		'g',
		{ transform: `translate(${PADDING + 10} ${Math.round(top + height / 2)}) rotate(-90)` },
		textAt(0, 0, 'small muted', name, 'middle'),
	)
	return [...numbers, turned]
}

/** Whether so many labels at such distances can all be shown, or only every second, third, ... */
function everyNth(widths: readonly number[], distance: number): number {
	return Math.max(1, Math.ceil(Math.max(0, ...widths) / distance))
}

function xAxis({ x, xLabel }: HeatMap, { cellWidth }: Grid, left: number, top: number): readonly string[] {
	// Beyond its cell a number may use half of the room between two panels.
	const longest = cellWidth + BETWEEN - 4
	const texts = x.map((value) => shortened(axisText(value), longest, inPixels(FONT.cell)))
	const nth = everyNth(
		texts.map((text) => textWidth(text, FONT.cell) + 4),
		cellWidth,
	)
	const shown = texts.flatMap((text, column) =>
		column % nth === 0
			? [textAt(left + (column + 0.5) * cellWidth, top + 14, 'cell muted', text, 'middle')]
			: [],
	)
	const width = x.length * cellWidth
	const name = shortened(xLabel, width, inPixels(FONT.small))
	return [...shown, textAt(left + width / 2, top + 29, 'small muted', name, 'middle')]
}

const rampStep = (share: number): number => Math.round(share * (RAMP_STEPS - 1))

function drawCells(
	{ x, y }: HeatMap,
	panel: HeatPanel,
	{ cellWidth, cellHeight }: Grid,
	left: number,
	top: number,
): readonly string[] {
	// The widest text decides for all, so that no panel has numbers in some of its cells only.
	const hasText = cellWidth >= textWidth('100', FONT.cell) + 2
	return y.flatMap((_, row) =>
		x.flatMap((_, column) => {
			const share = shareAt(panel, row, column)
			const [cellX, cellY] = [left + column * cellWidth, top + (y.length - 1 - row) * cellHeight]
			const box = { x: cellX + 0.5, y: cellY + 0.5, width: cellWidth - 1, height: cellHeight - 1 }
			if (share === undefined) return [element('rect', { class: 'unknown', ...box })]
			const step = rampStep(share)
			const cell = element('rect', { class: `h${step}`, ...box })
			if (!hasText) return [cell]
			const [middle, line] = [cellX + cellWidth / 2, cellY + cellHeight / 2 + 3.5]
			return [cell, textAt(middle, line, `cell i${step}`, percent(share), 'middle')]
		}),
	)
}

/** The steps of the ramp with what they stand for. */
function scaleLegend(map: HeatMap, top: number): Placed {
	const { valueLabel, unknownLabel } = map
	const [width, height] = [18, 10]
	const name = shortened(valueLabel, WIDTH / 2, inPixels(FONT.label))
	const left = PADDING + textWidth(name, FONT.label) + 12
	const steps = Array.from({ length: RAMP_STEPS }, (_, step) => step)
	const marks = [
		textAt(PADDING, top + 13, 'label', name),
		...steps.map((step) =>
			element('rect', { class: `h${step}`, x: left + step * width, y: top + 4, width, height }),
		),
		...[0, 5, 10].map((step) =>
			textAt(left + (step + 0.5) * width, top + 26, 'cell muted', `${step * 10} %`, 'middle'),
		),
	]
	if (hasUnknown(map)) {
		const from = left + RAMP_STEPS * width + 24
		const text = shortened(
			unknownLabel ?? DEFAULT_UNKNOWN_LABEL,
			WIDTH - PADDING - from - 24,
			inPixels(FONT.small),
		)
		marks.push(
			element('rect', { class: 'unknown', x: from, y: top + 4, width, height }),
			textAt(from + width + 6, top + 13, 'small muted', text),
		)
	}
	return { marks, bottom: top + 30 }
}
