/**
 * Labels at the right end of lines, which are quicker to read than a legend. Lines often end at the same
 * height, so labels are pushed apart, and a short leader connects each label with its line.
 */
import { FONT } from './stylesheet.ts'
import { coordinate, element, textAt, textWidth } from './svg.ts'

export interface EndLabel {
	readonly text: string
	/** Where the line ends. */
	readonly y: number
	/** Classes of the leader's color. */
	readonly color: string
	readonly kind: 'series' | 'reference'
}

const LEADER = 16
const GAP = 5
const ROW = 15

/** Returns the width that labels take at the right of a plot. */
export function endLabelsWidth(texts: readonly string[]): number {
	if (texts.length === 0) return 0
	return LEADER + GAP + Math.max(...texts.map((text) => textWidth(text, FONT.label)))
}

export const endLabelsFit = (count: number, height: number): boolean => count * ROW <= height

export function drawEndLabels(
	labels: readonly EndLabel[],
	{ left, top, bottom }: { readonly left: number; readonly top: number; readonly bottom: number },
): readonly string[] {
	const sorted = labels.toSorted((a, b) => a.y - b.y)
	const heights = sorted.map(({ y }) => y)
	const ys = spread(heights, ROW, top, bottom)
	return sorted.flatMap(({ text, y, color, kind }, index) => {
		const labelY = ys[index] ?? y
		const d = `M${coordinate(left + 3)} ${coordinate(y)}L${coordinate(left + 9)} ${coordinate(labelY)}h${LEADER - 9}`
		return [
			element('path', { class: `leader ${color}`, d }),
			textAt(left + LEADER + GAP, labelY + 4, kind === 'reference' ? 'muted' : 'label', text),
		]
	})
}

interface Group {
	readonly middle: number
	readonly count: number
}

/** Returns heights at least `gap` apart, each as near to its own as order and limits allow. Expects them in ascending order. */
export function spread(
	heights: readonly number[],
	gap: number,
	top: number,
	bottom: number,
): readonly number[] {
	const groupAt = (middle: number, count: number): Group => {
		const half = ((count - 1) / 2) * gap
		return { middle: Math.max(top + half, Math.min(bottom - half, middle)), count }
	}
	const overlap = (above: Group, below: Group): boolean =>
		below.middle - above.middle < ((above.count + below.count) / 2) * gap
	// Neighbors that are too close become one group around their common middle, which may then touch the next
	// group.
	const groups: Group[] = []
	for (const y of heights) {
		let group = groupAt(y, 1)
		for (let above = groups.at(-1); above && overlap(above, group); above = groups.at(-1)) {
			const count = above.count + group.count
			group = groupAt((above.middle * above.count + group.middle * group.count) / count, count)
			groups.pop()
		}
		groups.push(group)
	}
	return groups.flatMap(({ middle, count }) =>
		Array.from({ length: count }, (_, index) => middle + (index - (count - 1) / 2) * gap),
	)
}
