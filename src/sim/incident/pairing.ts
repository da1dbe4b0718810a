/**
 * When did an attempt begin that is only known by its end? A retry tells when each next attempt begins (after the wait) and when each
 * call began, but not which end belongs to which begin. Ends that come from a timeout find their begin by its length; the rest are
 * paired in order, first come, first served. Single durations are guesses then, but their sum is right, and so is the number of
 * attempts under way at any time.
 */
import type { GrowableArray } from './growable-array.ts'

/** Timers are late by so much, or by this share of their length. */
const LATE_MS = 20
const LATE_SHARE = 0.05

/** Clocks are read in whole milliseconds, so that an end may seem to come before its begin. */
const GRAIN_MS = 3

export interface Unpaired {
	/** When attempts began. */
	readonly begins: GrowableArray
	/** Begins that are known by their end, and how long those attempts took. */
	readonly known: GrowableArray
	readonly knownMs: number
	/** Nothing takes longer than this: a begin that has found no end by then has none. */
	readonly longestMs: number
}

/** For each of the ends, in order, its begin. An end that finds none is its own. */
export function pairedBegins(
	{ begins, known, knownMs, longestMs }: Unpaired,
	ends: Float64Array,
): Float64Array {
	const open = without(begins.sorted(), known.sorted(), Math.max(LATE_MS, LATE_SHARE * knownMs))
	let next = 0
	return ends.map((end) => {
		while ((open[next] ?? Infinity) < end - longestMs) next++
		const begin = open[next] ?? Infinity
		if (begin > end + GRAIN_MS) return end
		next++
		return Math.min(begin, end)
	})
}

/** The values without those that belong to one of the others: first to one that is the same but for the clock's grain, then to one that is near. */
function without(values: Float64Array, others: Float64Array, near: number): Float64Array {
	const exact = apart(values, others, GRAIN_MS)
	return apart(exact.values, exact.others, near).values
}

interface Apart {
	readonly values: Float64Array
	readonly others: Float64Array
}

/** What is left of both when each takes one of the other away that is near. Both are in order. */
function apart(values: Float64Array, others: Float64Array, near: number): Apart {
	const rest = { values: new Float64Array(values.length), others: new Float64Array(others.length) }
	let [index, next, kept, keptOthers] = [0, 0, 0, 0]
	while (index < values.length || next < others.length) {
		const value = values[index] ?? Infinity
		const other = others[next] ?? Infinity
		if (Math.abs(value - other) <= near) {
			index++
			next++
		} else if (value < other) {
			rest.values[kept++] = value
			index++
		} else {
			rest.others[keptOthers++] = other
			next++
		}
	}
	return { values: rest.values.subarray(0, kept), others: rest.others.subarray(0, keptOthers) }
}
