/**
 * Lays out a chart over time: one plot, or several below each other over the same x axis. Nothing is written inside of a
 * plot, so that no text covers data: names stand beside it or above, and what a shaded stretch is stands above it.
 */
import { checkChart, DEFAULT_X_LABEL, type Panel, panelsOf, seriesNames, type TimeChart } from './chart.ts'
import { describeChart } from './description.ts'
import { textAt } from './element.ts'
import { heading, PADDING, type Placed, picture, WIDTH } from './frame.ts'
import type { Layer } from './layers.ts'
import { sample } from './legend.ts'
import { colourClass, nameAll } from './naming.ts'
import { isNamedByTitle, type Prepared, prepare } from './panels.ts'
import { type Columns, drawPlot, tickRoom, xAxis } from './plot.ts'
import { type Extent, linearScale } from './scale.ts'
import { placeShades, shadeLabels } from './shades.ts'
import { FONT } from './stylesheet.ts'
import { inPixels, shortened, textWidth } from './text-width.ts'

const HEADER = 20
const BETWEEN = 14

/** Draws a chart whose panels become layers in the given way. */
export function timeChart(chart: TimeChart, toLayers: (panel: Panel) => readonly Layer[]): string {
	checkChart(chart)
	const panels = prepare(chart, toLayers)
	const names = seriesNames(panelsOf(chart))
	const colourOf = (name: string): string => colourClass(names.indexOf(name))
	const height = panels.length > 2 ? 120 : panels.length === 2 ? 170 : 260
	const { legend, seriesBeside, linesBeside, sideRoom } = nameAll(panels, names, chart.bandLabel, height)

	const extent = xExtent(chart.x)
	const left = PADDING + Math.max(0, ...panels.map(({ ticks }) => tickRoom(ticks))) + 8
	const right = WIDTH - PADDING - Math.max(12, sideRoom)
	const toX = linearScale(extent, left, right)
	const shades = placeShades(chart.shades ?? [], extent, toX)
	const columns: Columns = { left, right, xs: chart.x, toX, shades }

	const head = heading(chart.title, chart.subtitle, legend)
	const marks = [...head.marks]
	let y = head.bottom
	const put = (placed: Placed): void => {
		marks.push(...placed.marks)
		y = placed.bottom
	}
	panels.forEach((panel, index) => {
		put(panelHeader(panel, panels[index - 1]?.yLabel, y, colourOf))
		if (index === 0) put(shadeLabels(shades, y, { left, right: WIDTH - PADDING }))
		const [top, bottom] = [y + 6, y + 6 + height]
		const beside = { series: seriesBeside, lines: linesBeside ? panel.ownLines : [], colourOf }
		put({ marks: drawPlot(panel, columns, { top, bottom }, beside), bottom: bottom + BETWEEN })
	})
	put(xAxis(extent, columns, y - BETWEEN, chart.xLabel ?? DEFAULT_X_LABEL))
	return picture({ title: chart.title, description: describeChart(chart) }, y + PADDING, marks)
}

/** The title of a panel, with a sample if it names a series, and what its numbers are unless the panel above has said so. */
function panelHeader(
	panel: Prepared,
	labelAbove: string | undefined,
	top: number,
	colourOf: (name: string) => string,
): Placed {
	const { title, layers } = panel
	const yLabel = panel.yLabel === labelAbove ? '' : panel.yLabel
	if (title === '' && yLabel === '') return { marks: [], bottom: top }
	const marks: string[] = []
	let x = PADDING
	if (isNamedByTitle(panel)) {
		marks.push(sample(layers[0]?.kind ?? 'line', colourOf(title), x, top + 10, 14))
		x += 20
	}
	const unit = shortened(yLabel, (WIDTH - 2 * PADDING) / 2, inPixels(FONT.small))
	const room = WIDTH - PADDING - x - textWidth(unit, FONT.small) - 10
	const name = shortened(title, room / BOLD, inPixels(FONT.label))
	if (name !== '') {
		marks.push(textAt(x, top + 14, 'strong', name))
		x += textWidth(name, FONT.label) * BOLD + 10
	}
	if (unit !== '') marks.push(textAt(x, top + 14, 'small muted', unit))
	return { marks, bottom: top + HEADER }
}

/** How much wider bold text may be. */
const BOLD = 1.1

/** From the first x to the last; something to stand in where there are fewer than two. */
function xExtent(x: readonly number[]): Extent {
	const [least = 0, greatest = least + 1] = [x[0], x.at(-1)]
	return least < greatest ? { least, greatest } : { least: least - 0.5, greatest: least + 0.5 }
}
