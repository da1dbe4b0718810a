/**
 * Charts over time as SVG files: one plot, or several below each other over the same x axis. Nothing is
 * written inside a plot, so no text covers data: names stand beside or above it, fault labels above it.
 */
import { describeChart, type Panel, seriesNames, type TimeChart } from './chart-data.ts'
import { endLabelsFit, endLabelsWidth } from './end-labels.ts'
import { drawHeading, type LegendEntry, PADDING, svgDocument, WIDTH } from './frame.ts'
import { type Layer, lineLayers, type PlotContent, preparePanels, stackedLayers } from './layers.ts'
import { drawBandLabels, drawPlot, drawXAxis, type PlotColumns, placeBands, tickTextWidth } from './plot.ts'
import { type Extent, linearScale } from './scale.ts'
import { FONT } from './stylesheet.ts'
import { type Drawing, fitText, textAt, textWidth } from './svg.ts'

const HEADER = 20
const BETWEEN = 14
/** How much wider bold text may be. */
const BOLD = 1.1

/** Draws lines over time, each with its range around it. */
export const lineChart = (chart: TimeChart): string => drawChart(chart, lineLayers)

/** Draws the parts of a whole over time, the first series at the bottom. Values must not be negative. */
export const stackedChart = (chart: TimeChart): string => drawChart(chart, stackedLayers)

function drawChart(chart: TimeChart, toLayers: (panel: Panel) => readonly Layer[]): string {
	const panels = preparePanels(chart, toLayers)
	const names = seriesNames(chart.panels)
	const height = panels.length > 2 ? 120 : panels.length === 2 ? 170 : 260
	const { legend, endWidth, labels } = layOutLabels(panels, names, chart.rangeLabel, height)

	const extent = xExtent(chart.x)
	const left = PADDING + Math.max(0, ...panels.map(({ ticks }) => tickTextWidth(ticks))) + 8
	const right = WIDTH - PADDING - Math.max(12, endWidth)
	const toX = linearScale(extent, left, right)
	const columns: Omit<PlotColumns, 'bands'> = { left, right, xs: chart.x, toX }

	const marks: string[] = []
	let y = 0
	const add = (drawing: Drawing): void => {
		marks.push(...drawing.marks)
		y = drawing.bottom
	}
	add(drawHeading(chart.title, chart.subtitle, legend, chart.notes))
	panels.forEach((panel, index) => {
		const own = chart.panels[index]?.faults
		const bands = placeBands(own ?? chart.faults ?? [], extent, toX)
		add(panelHeader(panel.title, index === 0 ? (chart.yLabel ?? '') : '', y))
		if (index === 0 || own !== chart.panels[index - 1]?.faults)
			add(drawBandLabels(bands, y, { left, right: WIDTH - PADDING }))
		const [top, bottom] = [y + 6, y + 6 + height]
		add({ marks: drawPlot(panel, { ...columns, bands }, { top, bottom }, labels), bottom: bottom + BETWEEN })
	})
	add(drawXAxis(extent, columns, y - BETWEEN, chart.xLabel))
	return svgDocument({ title: chart.title, description: describeChart(chart) }, y + PADDING, marks)
}

const MAX_END_WIDTH = 0.28 * WIDTH

/** There are six colors; further series are dashed. */
const colorClass = (index: number): string => (index < 6 ? `s${index}` : `s${index % 6} dashed`)

/**
 * Decides where names are written: at the ends of the lines if there is one plot and they fit, otherwise in
 * the legend. Every name is written once.
 */
function layOutLabels(
	panels: readonly PlotContent[],
	names: readonly string[],
	rangeLabel: string | undefined,
	height: number,
) {
	const references = [...new Set(panels.flatMap((panel) => panel.references.map(({ label }) => label)))]
	const referencesAtEnd = endLabelsWidth(references) <= MAX_END_WIDTH
	const count = names.length + (referencesAtEnd ? references.length : 0)
	const seriesAtEnd =
		panels.length === 1 && endLabelsWidth(names) <= MAX_END_WIDTH && endLabelsFit(count, height)
	const layers = panels.flatMap((panel) => panel.layers)
	const kind = layers.some((layer) => layer.kind === 'layer') ? 'layer' : 'line'
	const hasRange = layers.some((layer) => layer.kind === 'line' && layer.area)
	const legend: LegendEntry[] = [
		...(seriesAtEnd ? [] : names.map((name, index) => ({ kind, name, color: colorClass(index) }) as const)),
		...(referencesAtEnd ? [] : references.map((name) => ({ kind: 'reference', name, color: '' }) as const)),
		...(hasRange && rangeLabel ? [{ kind: 'band', name: rangeLabel, color: 'muted' } as const] : []),
	]
	const endWidth = endLabelsWidth([...(referencesAtEnd ? references : []), ...(seriesAtEnd ? names : [])])
	const colorOf = (name: string): string => colorClass(names.indexOf(name))
	return { legend, endWidth, labels: { series: seriesAtEnd, references: referencesAtEnd, colorOf } }
}

function panelHeader(title: string, yLabel: string, top: number): Drawing {
	if (title === '' && yLabel === '') return { marks: [], bottom: top }
	const marks: string[] = []
	let x = PADDING
	const unit = fitText(yLabel, (WIDTH - 2 * PADDING) / 2, FONT.small)
	const room = WIDTH - PADDING - x - textWidth(unit, FONT.small) - 10
	const name = fitText(title, room / BOLD, FONT.label)
	if (name !== '') {
		marks.push(textAt(x, top + 14, 'strong', name))
		x += textWidth(name, FONT.label) * BOLD + 10
	}
	if (unit !== '') marks.push(textAt(x, top + 14, 'small muted', unit))
	return { marks, bottom: top + HEADER }
}

/** Returns the extent from the first x to the last. With fewer than two of them, the axis has length one. */
function xExtent(x: readonly number[]): Extent {
	const [min = 0, max = min + 1] = [x[0], x.at(-1)]
	return min < max ? { min, max } : { min: min - 0.5, max: min + 0.5 }
}
