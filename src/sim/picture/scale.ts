/**
 * From values to places. Axes begin at zero unless something lies below it: rates, queues and waits are amounts, and an
 * axis that is cut off makes small differences look large. Steps are 1, 2 or 5 times a power of ten, written by way of the
 * decimal notation because powers and logarithms are not exact everywhere.
 */

/** The least and the greatest of something. */
export interface Extent {
	readonly least: number
	readonly greatest: number
}

/** Beyond these a difference of two values is no number any more, or a step is zero. */
const HUGE = 1e300
const TINY = 1e-300

/** A value as it can be drawn, or undefined for a gap. */
export function drawable(value: number | null | undefined): number | undefined {
	if (value === null || value === undefined || !Number.isFinite(value)) return undefined
	return Math.abs(value) < TINY ? 0 : Math.max(-HUGE, Math.min(HUGE, value))
}

/** Of all that can be drawn; zero is always among it. */
export function extentFromZero(lists: Iterable<readonly (number | null)[]>): Extent {
	let least = 0
	let greatest = 0
	for (const list of lists) {
		for (const value of list) {
			const drawn = drawable(value) ?? 0
			if (drawn < least) least = drawn
			if (drawn > greatest) greatest = drawn
		}
	}
	return { least, greatest }
}

/** The whole of several. */
export function union(extents: readonly Extent[]): Extent {
	return extentFromZero(extents.map(({ least, greatest }) => [least, greatest]))
}

/** The smallest step of 1, 2 or 5 times a power of ten that is at least `rough`. */
export function niceStep(rough: number): number {
	const [digits = '1', exponent = '0'] = rough.toExponential().split('e')
	const factor = [1, 2, 5, 10].find((nice) => nice >= Number(digits)) ?? 10
	return Number(`${factor}e${exponent}`)
}

/** Where an axis has its numbers. */
export interface Ticks extends Extent {
	readonly values: readonly number[]
	readonly step: number
}

/** Ticks that cover the extent: the first is at most its least, the last at least its greatest. */
export function coveringTicks({ least, greatest }: Extent, atMost: number): Ticks {
	if (greatest === least) return ticksBetween(0, 1, 1)
	// One step may be added at either end, where the extent is no multiple of it.
	const step = niceStep((greatest - least) / atMost)
	return ticksBetween(Math.floor(least / step), Math.ceil(greatest / step), step)
}

/** Ticks that lie within the extent; its ends stay where the data ends. */
export function innerTicks({ least, greatest }: Extent, atMost: number): Ticks {
	const step = niceStep(Math.max(TINY, (greatest - least) / atMost))
	// A hair wider, for 0.6 / 0.1 is less than 6 and the last tick would be lost.
	const hair = 1e-9
	const inner = ticksBetween(Math.ceil(least / step - hair), Math.floor(greatest / step + hair), step)
	return { ...inner, least, greatest }
}

function ticksBetween(first: number, last: number, step: number): Ticks {
	const count = Math.max(0, last - first) + 1
	const values = Array.from({ length: count }, (_, index) => (first + index) * step)
	return { values, step, least: first * step, greatest: last * step }
}

/** Maps values to places, linearly. */
export type Scale = (value: number) => number

export function linearScale({ least, greatest }: Extent, from: number, to: number): Scale {
	const span = greatest - least || 1
	return (value) => from + ((value - least) / span) * (to - from)
}
