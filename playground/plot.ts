/**
 * Draws one plot as wide as there is room for. The shipped pictures have one width and carry their title and legend, as a file
 * must; in a page those are text, and the plot must fit a telephone. So only the parts inside of the frame are taken from there.
 */
import type { ReferenceLine, Series, Shade } from '../src/sim/picture/chart.ts'
import { element } from '../src/sim/picture/element.ts'
import { lineLayers, stackedLayers } from '../src/sim/picture/layers.ts'
import { prepare } from '../src/sim/picture/panels.ts'
import { drawPlot, tickRoom, xAxis } from '../src/sim/picture/plot.ts'
import { linearScale } from '../src/sim/picture/scale.ts'
import { placeShades, shadeLabels } from '../src/sim/picture/shades.ts'
import { ROOT_CLASS } from '../src/sim/picture/stylesheet.ts'

export interface Plot {
	/** In words, for those who hear it. */
	readonly description: string
	readonly x: readonly number[]
	readonly xLabel: string
	/** The end of the axis, wherever the values end. */
	readonly toX: number
	/** Areas on top of each other, and lines over them. */
	readonly areas: readonly Series[]
	readonly lines: readonly Series[]
	readonly levels: readonly ReferenceLine[]
	readonly shades: readonly Shade[]
	/** The class of a series, by its name. */
	colourOf(name: string): string
}

const PLOT_HEIGHT = 150
const RIGHT = 10

export function draw(plot: Plot, width: number): string {
	const { x, areas, lines, levels, shades, colourOf } = plot
	const series = [...areas, ...lines]
	const [panel] = prepare({ title: '', x, series, lines: levels }, () => [
		...stackedLayers({ series: areas }),
		...lineLayers({ series: lines }),
	])
	if (!panel) return ''
	const extent = { least: 0, greatest: plot.toX }
	const [left, right] = [tickRoom(panel.ticks) + 8, width - RIGHT]
	const toX = linearScale(extent, left, right)
	const placed = placeShades(shades, extent, toX)
	const labels = shadeLabels(placed, 0, { left, right })
	const [top, bottom] = [labels.bottom + 6, labels.bottom + 6 + PLOT_HEIGHT]
	const columns = { left, right, xs: x, toX, shades: placed }
	const axis = xAxis(extent, columns, bottom, plot.xLabel)
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
		...drawPlot(panel, columns, { top, bottom }, { series: false, lines: [], colourOf }),
		...axis.marks,
	)
}
