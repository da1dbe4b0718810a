/**
 * Panels as shapes to draw. A line chart and a stacked chart differ only in how series become lines and
 * areas; axes, labels and legend are the same.
 */
import type { Panel, ReferenceLine, TimeChart, Values } from './chart-data.ts'
import { coveringTicks, extentFromZero, isDrawable, type Ticks } from './scale.ts'

/** One series as a shape. */
export interface Layer {
	readonly name: string
	readonly kind: 'line' | 'layer'
	readonly line: Values
	/** The range around a line, or the area between this layer and the one below. */
	readonly area?: { readonly low: Values; readonly high: Values } | undefined
	/** The height of the right end, where a label can stand; undefined if nothing is drawn. */
	readonly end: number | undefined
}

/** Returns one line per series, with its range. */
export function lineLayers({ series }: Pick<Panel, 'series'>): readonly Layer[] {
	return series.map(({ name, values, range }) => {
		return { name, kind: 'line', line: values, area: range, end: lastDrawable(values) }
	})
}

/** Returns the series stacked in order. A gap adds no height, and nothing is drawn of its layer there. */
export function stackedLayers({ series }: Pick<Panel, 'series'>): readonly Layer[] {
	let low: readonly number[] = series[0]?.values.map(() => 0) ?? []
	return series.map(({ name, values }) => {
		const below = low
		low = below.map((height, index) => height + (numberAt(values, index) ?? 0))
		const high = low.map((height, index) => (numberAt(values, index) === undefined ? null : height))
		const [bottom, top] = [lastDrawable(below), lastDrawable(high)]
		const end = bottom === undefined || top === undefined ? undefined : (bottom + top) / 2
		return { name, kind: 'layer', line: high, area: { low: below, high }, end }
	})
}

function numberAt(values: Values, index: number): number | undefined {
	const value = values[index]
	return isDrawable(value) ? value : undefined
}

const lastDrawable = (values: Values): number | undefined => values.findLast(isDrawable)

/** What one plot draws, with its y axis. */
export interface PlotContent {
	readonly title: string
	readonly layers: readonly Layer[]
	readonly references: readonly ReferenceLine[]
	readonly ticks: Ticks
}

/** Returns the content of every panel, on a common y axis or each on its own. */
export function preparePanels(
	{ panels, scale }: Pick<TimeChart, 'panels' | 'scale'>,
	toLayers: (panel: Panel) => readonly Layer[],
): readonly PlotContent[] {
	const contents = panels.map((panel) => {
		const [layers, references] = [toLayers(panel), panel.references ?? []]
		const values = [
			references.map(({ value }) => value),
			...layers.flatMap(({ line, area }) => [line, ...(area ? [area.low, area.high] : [])]),
		]
		return { title: panel.title, layers, references, extent: extentFromZero(values) }
	})
	const common = extentFromZero(contents.map(({ extent }) => [extent.min, extent.max]))
	const maxTicks = panels.length > 2 ? 4 : 6
	return contents.map(({ extent, ...content }) => ({
		...content,
		ticks: coveringTicks(scale === 'own' ? extent : common, maxTicks),
	}))
}
