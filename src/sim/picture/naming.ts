/**
 * Decides where names stand: beside the ends of the lines if there is one plot and they fit there; as the title of a panel
 * that shows nothing else; otherwise in the legend. So every name is somewhere, and once.
 */
import type { ReferenceLine } from './chart.ts'
import { WIDTH } from './frame.ts'
import type { LegendEntry, SampleKind } from './legend.ts'
import { isNamedByTitle, type Prepared } from './panels.ts'
import { fitsBeside, sideWidth } from './side-labels.ts'

export interface Naming {
	readonly legend: readonly LegendEntry[]
	readonly seriesBeside: boolean
	readonly linesBeside: boolean
	/** What names beside the plots need. */
	readonly sideRoom: number
}

/** The widest that names beside a plot may be. */
const WIDEST = 0.28 * WIDTH

/** Six colours; a series beyond them is dashed. */
export function colourClass(index: number): string {
	return index < 6 ? `s${index}` : `s${index % 6} dashed`
}

/** Decides for all series, reference lines and bands of a chart. */
export function nameAll(
	panels: readonly Prepared[],
	names: readonly string[],
	bandLabel: string | undefined,
	height: number,
): Naming {
	const ownLines = labelsOf(panels.map((panel) => panel.ownLines))
	const linesBeside = sideWidth(ownLines) <= WIDEST
	const count = names.length + (linesBeside ? ownLines.length : 0)
	const seriesBeside = panels.length === 1 && sideWidth(names) <= WIDEST && fitsBeside(count, height)
	const beside = [...(linesBeside ? ownLines : []), ...(seriesBeside ? names : [])]

	const titled = new Set(panels.filter(isNamedByTitle).map(({ title }) => title))
	const unnamed = seriesBeside ? [] : names.filter((name) => !titled.has(name))
	const unnamedLines = labelsOf(panels.map(({ lines }) => lines)).filter((label) => !beside.includes(label))
	const kind = panels.some(({ layers }) => layers[0]?.kind === 'layer') ? 'layer' : 'line'
	const hasBand = panels.some(({ layers }) => layers.some((layer) => layer.kind === 'line' && layer.area))
	return {
		legend: [
			...unnamed.map((name) => entry(kind, name, colourClass(names.indexOf(name)))),
			...unnamedLines.map((name) => entry('reference', name, '')),
			...(hasBand && bandLabel ? [entry('band', bandLabel, 'muted')] : []),
		],
		seriesBeside,
		linesBeside,
		sideRoom: sideWidth(beside),
	}
}

const labelsOf = (lists: readonly (readonly ReferenceLine[])[]): readonly string[] => [
	...new Set(lists.flat().map(({ label }) => label)),
]

const entry = (kind: SampleKind, name: string, colour: string): LegendEntry => ({ kind, name, colour })
