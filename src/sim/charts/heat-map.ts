/**
 * Heat maps as SVG files: panels side by side as long as their cells stay readable, all with the same colors.
 * The ramp has eleven steps instead of a smooth gradient, so that a reader finds a cell's color in the legend
 * and the stylesheet can hold a color for light and one for dark mode.
 */
import { formatNumber } from '../../text/format.ts'
import { drawHeading, PADDING, svgDocument, WIDTH } from './frame.ts'
import { FONT, RAMP_STEPS } from './stylesheet.ts'
import { type Drawing, element, fitText, textAt, textWidth, wrapText } from './svg.ts'

/** A share from 0 to 1 for every combination of two settings, in one panel per variant. */
export interface HeatMap {
	readonly title: string
	readonly subtitle: string
	/** The columns, from left to right. */
	readonly x: readonly string[]
	/** The rows, from the bottom up. */
	readonly y: readonly string[]
	readonly xLabel: string
	readonly yLabel: string
	/** What the share is a share of. */
	readonly valueLabel: string
	/** What an unknown cell means. */
	readonly unknownLabel: string
	readonly panels: readonly HeatPanel[]
}

export interface HeatPanel {
	readonly title: string
	/** A row for each y with a cell for each x. Null is unknown. */
	readonly cells: readonly (readonly (number | null)[])[]
}

type Grid = ReturnType<typeof layOut>

const BETWEEN = 22
const TITLE_ROW = 16
const AXIS_NAME = 18
const READABLE_CELL = 24
const MAX_CELL = 52
const MIN_PANEL = 130
const MAX_Y_LABEL = 160
/** The name of the y axis may be longer than the axis: the space left of the titles and of the x axis is free. */
const Y_NAME_OVERHANG = 50

export function heatMap(map: HeatMap): string {
	const grid = layOut(map)
	const head = drawHeading(map.title, map.subtitle, [])
	const legend = drawRamp(map, head.bottom)
	const marks = [...head.marks, ...legend.marks]
	let y = legend.bottom + 14
	for (let from = 0; from < map.panels.length; from += grid.perRow) {
		const row = drawRow(map, grid, from, y)
		marks.push(...row.marks)
		y = row.bottom + BETWEEN
	}
	return svgDocument({ title: map.title, description: describe(map) }, y, marks)
}

function layOut({ x, y, panels }: HeatMap) {
	// The room for the labels of the y axis and for its name.
	const margin = AXIS_NAME + Math.max(0, ...y.map((label) => textWidth(yText(label), FONT.small))) + 6
	const width = WIDTH - 2 * PADDING - margin
	const columns = Math.max(1, x.length)
	const widthFor = (perRow: number): number => (width - (perRow - 1) * BETWEEN) / perRow
	let perRow = Math.max(1, Math.min(4, panels.length))
	while (perRow > 1 && widthFor(perRow) < Math.max(MIN_PANEL, READABLE_CELL * columns)) perRow--
	const cellWidth = Math.min(MAX_CELL, widthFor(perRow) / columns)
	const cellHeight = Math.max(14, Math.min(26, cellWidth))
	const panelWidth = Math.max(MIN_PANEL, cellWidth * columns)
	// Bold text is wider than the estimate.
	const titles = panels.map(({ title }) => wrapText(title, panelWidth / 1.1, FONT.label))
	const titleHeight = Math.max(0, ...titles.map((lines) => lines.length)) * TITLE_ROW + 4
	return { perRow, margin, cellWidth, cellHeight, panelWidth, titles, titleHeight }
}

function drawRow(map: HeatMap, grid: Grid, from: number, top: number): Drawing {
	const { perRow, margin, cellHeight, panelWidth, titles, titleHeight } = grid
	const height = map.y.length * cellHeight
	const [left, cellsTop] = [PADDING + margin, top + titleHeight]
	const distance = panelWidth + BETWEEN
	const marks = drawYAxis(map, grid, cellsTop, height)
	map.panels.slice(from, from + perRow).forEach((panel, index) => {
		const x = left + index * distance
		const lines = titles[from + index] ?? []
		const firstLine = cellsTop - 8 - (lines.length - 1) * TITLE_ROW
		marks.push(
			...lines.map((line, at) => textAt(x, firstLine + at * TITLE_ROW, 'strong', line)),
			...drawCells(map, panel, grid, x, cellsTop),
			...drawXAxis(map, grid, x, cellsTop + height),
		)
	})
	return { marks, bottom: cellsTop + height + 34 }
}

const yText = (label: string): string => fitText(label, MAX_Y_LABEL, FONT.small)

function drawYAxis(
	{ y, yLabel }: HeatMap,
	{ margin, cellHeight }: Grid,
	top: number,
	height: number,
): string[] {
	const right = PADDING + margin - 6
	const labels = y.map((label, row) =>
		textAt(right, top + height - (row + 0.5) * cellHeight + 4, 'small muted', yText(label), 'end'),
	)
	const name = fitText(yLabel, height + Y_NAME_OVERHANG, FONT.small)
	const rotated = element(
		'g',
		{ transform: `translate(${PADDING + 10} ${Math.round(top + height / 2)}) rotate(-90)` },
		textAt(0, 0, 'small muted', name, 'middle'),
	)
	return [...labels, rotated]
}

function drawXAxis(
	{ x, xLabel }: HeatMap,
	{ cellWidth }: Grid,
	left: number,
	top: number,
): readonly string[] {
	// A label may exceed its cell by half of the gap between two panels.
	const texts = x.map((label) => fitText(label, cellWidth + BETWEEN - 4, FONT.cell))
	const widest = Math.max(0, ...texts.map((text) => textWidth(text, FONT.cell) + 4))
	// If not all labels fit, every second, third, ... is shown.
	const every = Math.max(1, Math.ceil(widest / cellWidth))
	const labels = texts.flatMap((text, column) =>
		column % every === 0
			? [textAt(left + (column + 0.5) * cellWidth, top + 14, 'cell muted', text, 'middle')]
			: [],
	)
	const width = x.length * cellWidth
	const name = fitText(xLabel, width, FONT.small)
	return [...labels, textAt(left + width / 2, top + 29, 'small muted', name, 'middle')]
}

function drawCells(
	{ x, y }: HeatMap,
	{ cells }: HeatPanel,
	{ cellWidth, cellHeight }: Grid,
	left: number,
	top: number,
): readonly string[] {
	// The widest text decides, so that a panel never has numbers in only some of its cells.
	const hasText = cellWidth >= textWidth('100', FONT.cell) + 2
	return y.flatMap((_, row) =>
		x.flatMap((_, column) => {
			const share = cells[row]?.[column] ?? null
			const [cellX, cellY] = [left + column * cellWidth, top + (y.length - 1 - row) * cellHeight]
			const box = { x: cellX + 0.5, y: cellY + 0.5, width: cellWidth - 1, height: cellHeight - 1 }
			if (share === null) return [element('rect', { class: 'unknown', ...box })]
			const step = Math.round(share * (RAMP_STEPS - 1))
			const cell = element('rect', { class: `h${step}`, ...box })
			if (!hasText) return [cell]
			const [middle, line] = [cellX + cellWidth / 2, cellY + cellHeight / 2 + 3.5]
			return [cell, textAt(middle, line, `cell i${step}`, percentText(share), 'middle')]
		}),
	)
}

/** Rounds to whole percent, but only exactly 0 and 1 become 0 and 100. */
export function percentText(share: number): string {
	if (share > 0.99 && share < 1) return '99'
	return share > 0 && share < 0.01 ? '1' : formatNumber(share * 100)
}

function drawRamp({ valueLabel, unknownLabel, panels }: HeatMap, top: number): Drawing {
	const [width, height] = [18, 10]
	const name = fitText(valueLabel, WIDTH / 2, FONT.label)
	const left = PADDING + textWidth(name, FONT.label) + 12
	const marks = [
		textAt(PADDING, top + 13, 'label', name),
		...Array.from({ length: RAMP_STEPS }, (_, step) =>
			element('rect', { class: `h${step}`, x: left + step * width, y: top + 4, width, height }),
		),
		...[0, 5, 10].map((step) =>
			textAt(left + (step + 0.5) * width, top + 26, 'cell muted', `${step * 10} %`, 'middle'),
		),
	]
	if (panels.some(({ cells }) => cells.flat().includes(null))) {
		const x = left + RAMP_STEPS * width + 24
		const label = fitText(unknownLabel, WIDTH - PADDING - x - 24, FONT.small)
		marks.push(
			element('rect', { class: 'unknown', x, y: top + 4, width, height }),
			textAt(x + width + 6, top + 13, 'small muted', label),
		)
	}
	return { marks, bottom: top + 30 }
}

/** Returns the map in words, for screen readers: how many cells are 0 % and how many 100 %. */
function describe({ subtitle, xLabel, yLabel, valueLabel, panels }: HeatMap): string {
	const sentences = panels.map(({ title, cells }) => {
		const shares = cells.flat().filter((share) => share !== null)
		const count = (value: number) => shares.filter((share) => share === value).length
		return `${title}: of ${shares.length} cells ${count(0)} are 0 %, ${count(1)} are 100 %`
	})
	return [subtitle, `${valueLabel}, by ${xLabel} (across) and ${yLabel} (up)`, ...sentences]
		.map((sentence) => `${sentence}.`)
		.join(' ')
}
