/**
 * A plot of columns with a y axis at its left and time below. What stands in a column is the caller's: one value in eighths
 * of a block, or several layers. Only as many rows are drawn as the plot needs, so that a small one beside a large one on
 * the same scale is seen to be small.
 */
import type { ReferenceLine, Shade } from '../chart.ts'
import { decimalsOf, figure } from '../figure.ts'
import { drawable, niceStep } from '../scale.ts'
import { type Columns, isShaded, timeRows } from './columns.ts'
import { displayWidth, padded } from './display-width.ts'
import type { Marks } from './marks.ts'
import { type Cell, paintCells, type Terminal } from './terminal.ts'

const BLOCKS = ' ▁▂▃▄▅▆▇█'
const MOST_ROWS = 10

/** A share of a cell, filled from below. */
export const block = (share: number): string => BLOCKS.charAt(Math.max(0, Math.min(8, Math.round(share * 8))))

/** How much one row of characters stands for. */
export interface Rows {
	readonly step: number
	/** The room for the numbers of the axis. */
	readonly labelWidth: number
}

/** Rows for all plots of one scale. */
export function rowsFor(greatest: number): Rows {
	const step = greatest < 1e-300 ? 1 : niceStep(greatest / MOST_ROWS)
	const labels = Array.from({ length: rowCount(greatest, step) }, (_, below) => rowLabel(below + 1, step))
	return { step, labelWidth: Math.max(6, ...labels.map(displayWidth)) }
}

const rowLabel = (count: number, step: number): string => figure(count * step, decimalsOf(step))

/** What passes a row by less than the smallest block shows does not open another one. */
const rowCount = (greatest: number, step: number): number => Math.max(1, Math.ceil(greatest / step - 1 / 16))

export interface Bars extends Rows {
	readonly columns: Columns
	/** Of what is drawn here. */
	readonly greatest: number
	/** What stands in a column between two heights. */
	readonly cellAt: (column: number, low: number, high: number) => Cell
	readonly shades: readonly Shade[]
	readonly lines: readonly ReferenceLine[]
	readonly marks: Marks
	readonly xLabel: string
}

/** The plot in lines. */
export function drawBars(bars: Bars, { width, paint }: Terminal): readonly string[] {
	const { step, labelWidth, columns, greatest, shades, lines, marks, xLabel } = bars
	const count = rowCount(Math.max(greatest, ...lines.map(({ value }) => drawable(value) ?? 0)), step)
	const places = Array.from({ length: columns.count }, (_, column) => column)
	const rows = Array.from({ length: count }, (_, index) => {
		const row = count - index
		const cells = places.map((column) => cellOrLine(bars, column, row))
		return `${padded(rowLabel(row, step), labelWidth, 'right')} ┤${paintCells(cells, paint)}`
	})
	const margin = ' '.repeat(labelWidth + 1)
	const below = places.map((column): Cell => {
		const shade = shades.find((one) => isShaded(one, column, columns))
		return shade ? marks.ofShade(shade) : { text: '─', style: 'dim' }
	})
	return [
		...rows,
		`${margin}└${paintCells(below, paint)}`,
		...timeRows(columns, xLabel, width - labelWidth - 2).map((row) => `${margin} ${row}`.trimEnd()),
	]
}

/** Where nothing is drawn, a reference line can be seen. */
function cellOrLine({ cellAt, step, lines, marks }: Bars, column: number, row: number): Cell {
	const [low, high] = [(row - 1) * step, row * step]
	const cell = cellAt(column, low, high)
	if (cell.text !== ' ') return cell
	const line = lines.find(({ value }) => value > low && value <= high)
	return line ? marks.ofLine(line) : cell
}
