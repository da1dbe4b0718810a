/**
 * Which events belong together. A process whose clock is an hour off, or a stray line from another day, would stretch the
 * incident over all the time in between; so where nobody told anything for an hour, it is cut, and the part with most events is
 * taken.
 */

import type { EventColumns } from './event-columns.ts'
import { at, GrowableArray } from './growable-array.ts'

/** Nothing for so long is a cut. */
const SILENCE_MS = 3_600_000

/** From one event to another, both among them. */
export interface TimeRange {
	readonly from: number
	readonly to: number
	/** How many events it has, and how many lie outside. */
	readonly events: number
	readonly apart: number
}

export function findTimeRange(rows: readonly EventColumns[]): TimeRange {
	const times = new GrowableArray()
	for (const one of rows) one.each((end) => times.add(end))
	const sorted = times.sorted()
	let [first, length, begin] = [0, 0, 0]
	for (let index = 1; index <= sorted.length; index++) {
		if (index < sorted.length && at(sorted, index) - at(sorted, index - 1) <= SILENCE_MS) continue
		if (index - begin > length) [first, length] = [begin, index - begin]
		begin = index
	}
	return {
		from: at(sorted, first),
		to: at(sorted, first + length - 1),
		events: length,
		apart: sorted.length - length,
	}
}
