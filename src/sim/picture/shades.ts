/** Shaded stretches of time, the same in every panel, and what they are called, above the first. */
import type { Shade } from './chart.ts'
import { element, textAt } from './element.ts'
import type { Placed } from './frame.ts'
import type { Extent, Scale } from './scale.ts'
import { FONT } from './stylesheet.ts'
import { inPixels, shortened, textWidth } from './text-width.ts'

/** A shade in the picture. */
export interface PlacedShade {
	readonly label: string
	readonly x: number
	readonly width: number
}

const ROW = 15

/** Those that can be seen, cut to what is shown. One that took no time is still a hair wide. */
export function placeShades(
	shades: readonly Shade[],
	{ least, greatest }: Extent,
	toX: Scale,
): readonly PlacedShade[] {
	return shades
		.filter(({ from, to }) => from <= greatest && to >= least)
		.map(({ from, to, label = '' }) => {
			const [x, end] = [toX(Math.max(least, from)), toX(Math.min(greatest, to))]
			return { label, x, width: Math.max(1, end - x) }
		})
}

export const drawShades = (shades: readonly PlacedShade[], top: number, height: number): readonly string[] =>
	shades.map(({ x, width }) => element('rect', { class: 'shade', x, y: top, width, height }))

/** Each label above the middle of its shade, in a row of its own where it would touch another. */
export function shadeLabels(
	shades: readonly PlacedShade[],
	top: number,
	{ left, right }: { readonly left: number; readonly right: number },
): Placed {
	const rowEnds: number[] = []
	const labels = shades
		.filter(({ label }) => label !== '')
		.toSorted((a, b) => a.x - b.x)
		.map(({ label, x, width }) => {
			const text = shortened(label, right - left, inPixels(FONT.small))
			const half = textWidth(text, FONT.small) / 2
			const middle = Math.max(left + half, Math.min(right - half, x + width / 2))
			const free = rowEnds.findIndex((end) => end < middle - half - 6)
			const row = free < 0 ? rowEnds.length : free
			rowEnds[row] = middle + half
			return { text, middle, row }
		})
	const bottom = top + rowEnds.length * ROW
	// The first row is the lowest: most labels stand right above what they name.
	const marks = labels.map(({ text, middle, row }) =>
		textAt(middle, bottom - row * ROW - 2, 'small muted', text, 'middle'),
	)
	return { marks, bottom }
}
