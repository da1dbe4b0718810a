/**
 * Names at the right end of what they name, which is quicker to read than a legend. Lines often end at the same height, so
 * the names are pushed apart, each tied to its line by a short stroke.
 */
import { coordinate, element, textAt } from './element.ts'
import { FONT } from './stylesheet.ts'
import { textWidth } from './text-width.ts'

export interface SideLabel {
	readonly text: string
	/** Where that which it names ends. */
	readonly y: number
	/** Classes of the stroke's colour. */
	readonly colour: string
	readonly kind: 'series' | 'reference'
}

const LEADER = 16
const GAP = 5
const ROW = 15

/** The room that labels take at the right of a plot. */
export function sideWidth(texts: readonly string[]): number {
	if (texts.length === 0) return 0
	return LEADER + GAP + Math.max(...texts.map((text) => textWidth(text, FONT.label)))
}

/** Whether so many labels can stand below each other. */
export const fitsBeside = (count: number, height: number): boolean => count * ROW <= height

export function sideLabels(
	labels: readonly SideLabel[],
	{ left, top, bottom }: { readonly left: number; readonly top: number; readonly bottom: number },
): readonly string[] {
	const sorted = labels.toSorted((a, b) => a.y - b.y)
	const ys = spread(
		sorted.map(({ y }) => y),
		ROW,
		top,
		bottom,
	)
	return sorted.flatMap(({ text, y, colour, kind }, index) => {
		const labelY = ys[index] ?? y
		const d = `M${coordinate(left + 3)} ${coordinate(y)}L${coordinate(left + 9)} ${coordinate(labelY)}h${LEADER - 9}`
		const muted = kind === 'reference' ? 'muted' : 'label'
		return [
			element('path', { class: `leader ${colour}`.trim(), d }),
			textAt(left + LEADER + GAP, labelY + 4, muted, text),
		]
	})
}

/** Heights at least `gap` apart and, where there is room, within the limits, each as near to its own as the order allows. */
export function spread(
	sorted: readonly number[],
	gap: number,
	top: number,
	bottom: number,
): readonly number[] {
	// Neighbours that are too close become one block around their common middle, which may then touch the next.
	const blocks: { middle: number; count: number }[] = []
	for (const y of sorted) {
		let block = { middle: within(y, 1), count: 1 }
		for (let above = blocks.at(-1); above && touches(above, block); above = blocks.at(-1)) {
			const count = above.count + block.count
			const middle = (above.middle * above.count + block.middle * block.count) / count
			block = { middle: within(middle, count), count }
			blocks.pop()
		}
		blocks.push(block)
	}
	return blocks.flatMap(({ middle, count }) =>
		Array.from({ length: count }, (_, index) => middle + (index - (count - 1) / 2) * gap),
	)

	function touches(
		above: { middle: number; count: number },
		below: { middle: number; count: number },
	): boolean {
		return below.middle - above.middle < ((above.count + below.count) / 2) * gap
	}
	function within(middle: number, count: number): number {
		const half = ((count - 1) / 2) * gap
		return Math.max(top + half, Math.min(bottom - half, middle))
	}
}
