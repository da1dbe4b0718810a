/**
 * Draws one plot in the width that the page has. The chart files of `yaoki/sim/report` have a fixed width and contain their title
 * and legend; in the page those are HTML, and the plot must fit a phone. So only the parts inside the frame are reused.
 */
import type { FaultBand, ReferenceLine, Series } from '../src/sim/charts/chart-data.ts'
import { lineLayers, preparePanels, stackedLayers } from '../src/sim/charts/layers.ts'
import { drawBandLabels, drawPlot, drawXAxis, placeBands, tickTextWidth } from '../src/sim/charts/plot.ts'
import { linearScale } from '../src/sim/charts/scale.ts'
import { ROOT_CLASS } from '../src/sim/charts/stylesheet.ts'
import { element } from '../src/sim/charts/svg.ts'

export interface Plot {
	/** The plot in words, for screen readers. */
	readonly description: string
	readonly x: readonly number[]
	readonly xLabel: string
	/** The end of the x axis, which may be later than the last value. */
	readonly endX: number
	/** Stacked areas, and lines over them. */
	readonly areas: readonly Series[]
	readonly lines: readonly Series[]
	readonly references: readonly ReferenceLine[]
	readonly faults: readonly FaultBand[]
	colorOf(name: string): string
}

const PLOT_HEIGHT = 150
const RIGHT = 10

export function draw(plot: Plot, width: number): string {
	const { x, areas, lines, references, faults, colorOf } = plot
	const [content] = preparePanels({ panels: [{ title: '', series: [], references }] }, () => [
		...stackedLayers({ series: areas }),
		...lineLayers({ series: lines }),
	])
	if (!content) return ''
	const extent = { min: 0, max: plot.endX }
	const [left, right] = [tickTextWidth(content.ticks) + 8, width - RIGHT]
	const toX = linearScale(extent, left, right)
	const bands = placeBands(faults, extent, toX)
	const labels = drawBandLabels(bands, 0, { left, right })
	const [top, bottom] = [labels.bottom + 6, labels.bottom + 6 + PLOT_HEIGHT]
	const columns = { left, right, xs: x, toX, bands }
	const axis = drawXAxis(extent, columns, bottom, plot.xLabel)
	return element(
		'svg',
		{
			class: ROOT_CLASS,
			role: 'img',
			'aria-label': plot.description,
			viewBox: `0 0 ${width} ${axis.bottom}`,
			width,
			height: axis.bottom,
		},
		...labels.marks,
		...drawPlot(content, columns, { top, bottom }, { series: false, references: false, colorOf }),
		...axis.marks,
	)
}
