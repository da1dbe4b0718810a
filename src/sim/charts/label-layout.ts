/**
 * Decides where names are written: at the ends of the lines if there is one plot and they fit, otherwise in the legend. Every
 * name is written once.
 */
import { endLabelsFit, endLabelsWidth } from './end-labels.ts'
import { type LegendEntry, WIDTH } from './frame.ts'
import type { PlotContent } from './layers.ts'

export interface LabelLayout {
	readonly legend: readonly LegendEntry[]
	readonly seriesAtEnd: boolean
	readonly referencesAtEnd: boolean
	/** The width that labels at the right of the plots take. */
	readonly endWidth: number
}

const MAX_END_WIDTH = 0.28 * WIDTH

/** Returns the color classes of a series. There are six colors; further series are dashed. */
export function colorClass(index: number): string {
	return index < 6 ? `s${index}` : `s${index % 6} dashed`
}

export function layOutLabels(
	panels: readonly PlotContent[],
	names: readonly string[],
	rangeLabel: string | undefined,
	height: number,
): LabelLayout {
	const references = [...new Set(panels.flatMap((panel) => panel.references.map(({ label }) => label)))]
	const referencesAtEnd = endLabelsWidth(references) <= MAX_END_WIDTH
	const count = names.length + (referencesAtEnd ? references.length : 0)
	const seriesAtEnd =
		panels.length === 1 && endLabelsWidth(names) <= MAX_END_WIDTH && endLabelsFit(count, height)

	const layers = panels.flatMap((panel) => panel.layers)
	const kind = layers.some((layer) => layer.kind === 'layer') ? 'layer' : 'line'
	const hasRange = layers.some((layer) => layer.kind === 'line' && layer.area)
	const entry = (entryKind: LegendEntry['kind'], name: string, color: string): LegendEntry => {
		return { kind: entryKind, name, color }
	}
	return {
		legend: [
			...(seriesAtEnd ? [] : names.map((name, index) => entry(kind, name, colorClass(index)))),
			...(referencesAtEnd ? [] : references.map((name) => entry('reference', name, ''))),
			...(hasRange && rangeLabel ? [entry('band', rangeLabel, 'muted')] : []),
		],
		seriesAtEnd,
		referencesAtEnd,
		endWidth: endLabelsWidth([...(referencesAtEnd ? references : []), ...(seriesAtEnd ? names : [])]),
	}
}
