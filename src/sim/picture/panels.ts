/** Panels with all that is known of them before they have a place in the picture. */
import { type Panel, panelsOf, panelTitle, type ReferenceLine, type TimeChart } from './chart.ts'
import type { Layer } from './layers.ts'
import { coveringTicks, type Extent, extentFromZero, type Ticks, union } from './scale.ts'

export interface Prepared {
	readonly title: string
	readonly yLabel: string
	readonly layers: readonly Layer[]
	/** All of them, and those that are not in every other panel as well. */
	readonly lines: readonly ReferenceLine[]
	readonly ownLines: readonly ReferenceLine[]
	readonly ticks: Ticks
}

/** Whether a panel's title is also the name of all that it shows. */
export const isNamedByTitle = ({ title, layers }: Prepared): boolean =>
	layers.length === 1 && layers[0]?.name === title

/** The panels of a chart, with their scales. */
export function prepare(chart: TimeChart, toLayers: (panel: Panel) => readonly Layer[]): readonly Prepared[] {
	const hasOwnScales = chart.scale === 'own'
	const given = panelsOf(chart)
	const common = chart.lines ?? []
	const told = given.map((panel) => {
		const own = panel.lines ?? []
		const lines = [...common, ...own]
		const layers = toLayers(panel)
		return {
			title: panelTitle(panel),
			yLabel: panel.yLabel ?? chart.yLabel ?? '',
			layers,
			lines,
			ownLines: given.length === 1 ? lines : own,
			extent: yExtent(layers, lines),
		}
	})
	const all = union(told.map(({ extent }) => extent))
	const atMost = told.length > 2 ? 4 : 6
	return told.map((panel) => ({
		...panel,
		ticks: coveringTicks(hasOwnScales ? panel.extent : all, atMost),
	}))
}

function yExtent(layers: readonly Layer[], lines: readonly ReferenceLine[]): Extent {
	return extentFromZero([
		lines.map(({ value }) => value),
		...layers.flatMap(({ line, area }) => [line, ...(area ? [area.low, area.high] : [])]),
	])
}
