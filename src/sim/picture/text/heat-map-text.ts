/**
 * A heat map in a terminal, in five shades that can be told apart without colour. The ends have a shade of their own: that
 * nothing went wrong, or everything did, is what one looks for.
 */

import { plainLine } from '../escape.ts'
import {
	axisText,
	checkHeatMap,
	DEFAULT_UNKNOWN_LABEL,
	type HeatMap,
	type HeatPanel,
	hasUnknown,
	shareAt,
} from '../heat-chart.ts'
import { shortened, wrapped } from '../text-width.ts'
import { displayWidth, padded } from './display-width.ts'
import {
	type Cell,
	headLines,
	type KeyEntry,
	keyLines,
	labelRow,
	paintCells,
	type Style,
	type TextOptions,
	terminalOf,
	textLines,
} from './terminal.ts'

const SHADES: readonly (KeyEntry & { readonly upTo: number })[] = [
	{ upTo: 0, text: '·', style: 'dim', name: 'none' },
	{ upTo: 1 / 3, text: '░', style: 'cyan', name: 'up to a third' },
	{ upTo: 2 / 3, text: '▒', style: 'yellow', name: 'up to two thirds' },
	{ upTo: 1 - Number.EPSILON / 2, text: '▓', style: 'magenta', name: 'more' },
	{ upTo: 1, text: '█', style: 'red', name: 'all' },
]
const UNKNOWN = '?'
const BETWEEN = 3
/** A panel of two columns still has a title. */
const NARROWEST = 12

/**
 * A heat map as text, panels side by side as far as they fit. A map of more columns than the terminal has is as wide as it is.
 *
 * @example
 * console.log(heatMapText(map, { width: 100 }))
 */
export function heatMapText(map: HeatMap, options?: TextOptions): string {
	checkHeatMap(map)
	const terminal = terminalOf(options)
	const { x, y, panels, xLabel, yLabel, valueLabel, unknownLabel = DEFAULT_UNKNOWN_LABEL } = map
	const names = y.map((value) => shortened(plainLine(axisText(value)), terminal.width / 3, displayWidth))
	const margin = Math.max(0, ...names.map(displayWidth)) + 1
	const room = terminal.width - margin
	const cellWidth = x.length * 2 <= room ? 2 : 1
	const panelWidth = Math.max(NARROWEST, x.length * cellWidth)
	const perRow = Math.max(1, Math.floor((room + BETWEEN) / (panelWidth + BETWEEN)))
	// The last label of an axis may stand out into the room behind its panel, as far as there is some behind the last.
	const behind = Math.min(BETWEEN - 1, room - perRow * (panelWidth + BETWEEN) + BETWEEN)
	const grid: Grid = { names, margin, cellWidth, panelWidth, axisWidth: panelWidth + Math.max(0, behind) }

	const isEmpty = panels.length === 0 || x.length === 0 || y.length === 0
	const out = [...headLines(map, terminal), ...(isEmpty ? ['', 'no data'] : [])]
	for (let from = 0; from < panels.length && !isEmpty; from += perRow) {
		const rows = panelRows(map, panels.slice(from, from + perRow), grid)
		out.push('', ...rows.map((cells) => paintCells(cells, terminal.paint)))
	}
	const key = [...SHADES, ...(hasUnknown(map) ? [{ text: UNKNOWN, name: unknownLabel }] : [])]
	return [
		...out,
		'',
		...textLines(`across: ${xLabel}; up: ${yLabel}; shade: ${valueLabel}`, terminal),
		...keyLines(key, terminal),
	].join('\n')
}

/** What all panels share, in columns of the terminal. */
interface Grid {
	/** Of the rows, from the bottom up. */
	readonly names: readonly string[]
	readonly margin: number
	readonly cellWidth: number
	readonly panelWidth: number
	readonly axisWidth: number
}

/** Panels beside each other: their titles, their cells from the top down, and the numbers of the x axis. */
function panelRows(
	{ x }: HeatMap,
	panels: readonly HeatPanel[],
	{ names, margin, cellWidth, panelWidth, axisWidth }: Grid,
): readonly (readonly Cell[])[] {
	const titles = panels.map(({ title }) => wrapped(plainLine(title), panelWidth, displayWidth))
	const titleRows = Math.max(...titles.map((lines) => lines.length))
	const blank: Cell = { text: ' '.repeat(margin) }
	const fill = (text: string, width: number): Cell => ({
		text: ' '.repeat(Math.max(0, width - displayWidth(text))),
	})
	const beside = (texts: readonly string[], style?: Style): readonly Cell[] => [
		blank,
		...texts.flatMap((text) => [{ text, style }, fill(text, panelWidth + BETWEEN)]),
	]
	const labels = x.map((value, column) => ({ at: column * cellWidth, text: plainLine(axisText(value)) }))
	const axis = labelRow(labels, axisWidth)
	return [
		...Array.from({ length: titleRows }, (_, row) =>
			beside(
				titles.map((lines) => lines[row - titleRows + lines.length] ?? ''),
				'bold',
			),
		),
		...names
			.map((name, row) => [
				{ text: `${padded(name, margin - 1, 'right')} ` },
				...panels.flatMap((panel) => [
					...x.map((_, column) => shaded(shareAt(panel, row, column), cellWidth)),
					fill('', panelWidth + BETWEEN - x.length * cellWidth),
				]),
			])
			.toReversed(),
		beside(panels.map(() => axis)),
	]
}

function shaded(share: number | undefined, width: number): Cell {
	const { text, style } = SHADES.find(({ upTo }) => share !== undefined && share <= upTo) ?? {
		text: UNKNOWN,
		style: undefined,
	}
	return { text: text.repeat(width), style }
}
