/** Shaded time ranges of faults. Labels are above the first panel that has them. */
import type { FaultBand } from './chart-data.ts'
import type { Extent, Scale } from './scale.ts'
import { FONT } from './stylesheet.ts'
import { type Drawing, element, fitText, textAt, textWidth } from './svg.ts'

export interface PlacedBand {
	readonly label: string
	readonly x: number
	readonly width: number
}

const ROW = 15

/** Returns the visible bands, cut to the x axis. A fault without duration is one pixel wide. */
export function placeBands(
	bands: readonly FaultBand[],
	{ min, max }: Extent,
	toX: Scale,
): readonly PlacedBand[] {
	return bands
		.filter(({ from, to }) => from <= max && to >= min)
		.map(({ from, to, label }) => {
			const [x, end] = [toX(Math.max(min, from)), toX(Math.min(max, to))]
			return { label, x, width: Math.max(1, end - x) }
		})
}

export const drawBands = (bands: readonly PlacedBand[], top: number, height: number): readonly string[] =>
	bands.map(({ x, width }) => element('rect', { class: 'shade', x, y: top, width, height }))

/** Puts each label above the middle of its band, in another row if it would overlap a label there. */
export function drawBandLabels(
	bands: readonly PlacedBand[],
	top: number,
	{ left, right }: { readonly left: number; readonly right: number },
): Drawing {
	const rowEnds: number[] = []
	const labels = bands
		.toSorted((a, b) => a.x - b.x)
		.map(({ label, x, width }) => {
			const text = fitText(label, right - left, FONT.small)
			const half = textWidth(text, FONT.small) / 2
			const middle = Math.max(left + half, Math.min(right - half, x + width / 2))
			const free = rowEnds.findIndex((end) => end < middle - half - 6)
			const row = free < 0 ? rowEnds.length : free
			rowEnds[row] = middle + half
			return { text, middle, row }
		})
	const bottom = top + rowEnds.length * ROW
	// The first row is the lowest, so that most labels are next to their band.
	const marks = labels.map(({ text, middle, row }) =>
		textAt(middle, bottom - row * ROW - 2, 'small muted', text, 'middle'),
	)
	return { marks, bottom }
}
