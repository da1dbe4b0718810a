/**
 * Which colour is what. Names stand in rows above the plot and never in it, so that they can not cover a line, however
 * long they are and however many.
 */
import { coordinate, element, textAt } from './element.ts'
import { FONT } from './stylesheet.ts'
import { inPixels, shortened, textWidth } from './text-width.ts'

/** How something is drawn, and so what its sample looks like. */
export type SampleKind = 'line' | 'layer' | 'band' | 'reference'

export interface LegendEntry {
	readonly name: string
	readonly kind: SampleKind
	/** Classes of its colour. */
	readonly colour: string
}

const SAMPLE = 20
const GAP = 6
const BETWEEN = 18
const ROW = 18

/** The entries in rows that are no wider than `room`, from `top` down. */
export function legendRows(
	entries: readonly LegendEntry[],
	{ left, top, room }: { readonly left: number; readonly top: number; readonly room: number },
): { readonly marks: readonly string[]; readonly height: number } {
	let x = left
	let row = 0
	const marks = entries.map(({ name, kind, colour }) => {
		const text = shortened(name, room - SAMPLE - GAP, inPixels(FONT.label))
		const width = SAMPLE + GAP + textWidth(text, FONT.label)
		if (x > left && x + width > left + room) {
			x = left
			row++
		}
		const y = top + row * ROW + ROW / 2
		const mark = sample(kind, colour, x, y) + textAt(x + SAMPLE + GAP, y + 4, 'label', text)
		x += width + BETWEEN
		return mark
	})
	return { marks, height: entries.length === 0 ? 0 : (row + 1) * ROW }
}

/** A small piece of what it stands for. */
export function sample(
	kind: SampleKind,
	colour: string,
	x: number,
	y: number,
	width: number = SAMPLE,
): string {
	if (kind === 'line' || kind === 'reference')
		return element('path', {
			class: `${kind} ${colour}`.trim(),
			d: `M${coordinate(x)} ${coordinate(y)}h${width}`,
		})
	return element('rect', { class: `${kind} ${colour}`, x, y: y - 5, width, height: 10 })
}
