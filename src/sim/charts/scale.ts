/**
 * Axes. They begin at zero unless a value lies below it: rates, queues and latencies are amounts, and a
 * truncated axis makes small differences look large.
 */
import { niceStep } from '../../text/format.ts'

export interface Extent {
	readonly min: number
	readonly max: number
}

/** Whether the value is a number that can be drawn; anything else is a gap. */
export const isDrawable = (value: number | null | undefined): value is number => Number.isFinite(value)

/** Returns the smallest extent that contains zero and all drawable values. */
export function extentFromZero(lists: Iterable<readonly (number | null)[]>): Extent {
	let [min, max] = [0, 0]
	for (const list of lists) {
		for (const value of list) {
			if (!isDrawable(value)) continue
			if (value < min) min = value
			if (value > max) max = value
		}
	}
	return { min, max }
}

export interface Ticks extends Extent {
	readonly values: readonly number[]
	readonly step: number
}

/** Smaller numbers have fewer digits, so their multiples are not where they should be. */
const SMALLEST_SPAN = 1e-300

/** Returns ticks that cover the extent: the first is at or below its minimum, the last at or above its maximum. */
export function coveringTicks({ min, max }: Extent, maxTicks: number): Ticks {
	if (max === min) return ticksBetween(0, 1, 1)
	const step = niceStep(Math.max(SMALLEST_SPAN, max - min) / maxTicks)
	return ticksBetween(Math.floor(min / step), Math.ceil(max / step), step)
}

/** Returns ticks within the extent, which keeps its own ends. */
export function innerTicks({ min, max }: Extent, maxTicks: number): Ticks {
	const step = niceStep((max - min) / maxTicks)
	// 0.6 / 0.1 is less than 6: without a tolerance the last tick would be lost.
	const tolerance = 1e-9
	const inner = ticksBetween(Math.ceil(min / step - tolerance), Math.floor(max / step + tolerance), step)
	return { ...inner, min, max }
}

function ticksBetween(first: number, last: number, step: number): Ticks {
	const count = Math.max(0, last - first) + 1
	const values = Array.from({ length: count }, (_, index) => (first + index) * step)
	return { values, step, min: first * step, max: last * step }
}

export type Scale = (value: number) => number

export function linearScale({ min, max }: Extent, from: number, to: number): Scale {
	const span = max - min || 1
	return (value) => from + ((value - min) / span) * (to - from)
}
