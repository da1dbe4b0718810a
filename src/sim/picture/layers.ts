/**
 * A panel as things to draw. A line chart and a stack differ only in this: how their series become lines and areas. The
 * rest, from the axes to the legend, is the same for both.
 */
import type { Panel, Values } from './chart.ts'
import { drawable } from './scale.ts'

/** One series, ready to be drawn. */
export interface Layer {
	readonly name: string
	readonly kind: 'line' | 'layer'
	readonly line: Values
	/** A band around the line, or all between this layer and the one below. */
	readonly area?: { readonly low: Values; readonly high: Values } | undefined
	/** The height of its right end, for its name; undefined if it was never drawn. */
	readonly end: number | undefined
}

/** Every series a line, with its band. */
export function lineLayers({ series }: Panel): readonly Layer[] {
	return series.map(({ name, values, band }) => ({
		name,
		kind: 'line',
		line: values,
		area: band,
		end: last(values),
	}))
}

/** Every series on top of the one before. A gap takes no room, and nothing is drawn of a layer there. */
export function stackedLayers({ series }: Panel): readonly Layer[] {
	let low: readonly number[] = series[0]?.values.map(() => 0) ?? []
	return series.map(({ name, values }) => {
		const below = low
		low = below.map((height, index) => height + (drawable(values[index]) ?? 0))
		const isKnown = (index: number) => drawable(values[index]) !== undefined
		const high = low.map((height, index) => (isKnown(index) ? height : null))
		const [bottom, top] = [last(below), last(high)]
		const end = bottom === undefined || top === undefined ? undefined : (bottom + top) / 2
		return { name, kind: 'layer', line: high, area: { low: below, high }, end }
	})
}

const last = (values: Values): number | undefined =>
	drawable(values.findLast((value) => drawable(value) !== undefined))
