/**
 * Finds the periods in which a symptom is frequent. A fault does not start with a bin, so around each change
 * of level the single attempts are searched for the time that separates them best. Where there are no
 * attempts, for example while a circuit is open, the change may have happened at any time in between: the
 * middle is used, and the whole range is reported.
 */
import type { AttemptBins, Symptom, SymptomCounts } from '../log/attempts.ts'
import { at } from '../log/numbers.ts'
import { findSegments, type Segment } from './change-points.ts'

/** A time and its possible range, in milliseconds of the scenario. */
export interface Edge {
	readonly atMs: number
	readonly minMs: number
	readonly maxMs: number
}

interface Bounds extends Segment {
	readonly starts: Edge
	readonly ends: Edge
}

/** A period with a level above normal. */
export interface FaultWindow extends Bounds {
	readonly attempts: number
	readonly symptoms: number
	/** The share of attempts with the symptom, 0 to 1. */
	readonly share: number
	/** True if it lasts to the end of the events. */
	readonly isOngoing: boolean
}

/** Limits shares to this distance from 0 and 1, so that a single odd attempt does not decide. */
const MAX_SHARE = 0.998

/** Times whose log-likelihood is at most this much below the best are in the range. */
const TOLERANCE = 2

/** Finds the periods in which a symptom is more frequent than normal. `levels` are shares in ascending order. */
export function findFaultWindows(
	bins: AttemptBins,
	hasSymptom: Symptom,
	levels: readonly number[],
): { readonly counts: SymptomCounts; readonly windows: readonly FaultWindow[] } {
	const counts = bins.countSymptoms(hasSymptom)
	const segments = mergeTransitions(findSegments(counts, levels))
	const context = { bins, hasSymptom, counts }
	const windows = segments.flatMap((segment, index) => {
		if (segment.level === 0) return []
		const [before, after] = [segments[index - 1], segments[index + 1]]
		const starts = before ? findEdge(context, before, segment) : { atMs: 0, minMs: 0, maxMs: 0 }
		const ends = after ? findEdge(context, segment, after) : findLastEdge(context, segment)
		const bounds = { ...segment, starts, ends }
		const shown = Array.from(attemptsIn(bounds, bins), hasSymptom).filter((hasIt) => hasIt !== undefined)
		const [attempts, symptoms] = [shown.length, shown.filter(Boolean).length]
		return { ...bounds, attempts, symptoms, isOngoing: !after, share: attempts > 0 ? symptoms / attempts : 0 }
	})
	return { counts, windows }
}

export function attemptsIn({ from, to, starts, ends }: Bounds, bins: AttemptBins): Uint32Array {
	const [first, last] = [bins.origin + starts.atMs, bins.origin + ends.atMs]
	return bins.in(Math.max(0, from - 2), Math.min(bins.length, to + 2)).filter((index) => {
		const at = bins.attempts.observedAt(index)
		return at >= first && at <= last
	})
}

/** Returns the share in a segment, without its outermost bins if there are others. */
function shareIn(counts: SymptomCounts, { from, to }: Segment): number {
	const inner = total(counts, from + 1, to - 1)
	const [attempts, symptoms] = inner[0] > 0 ? inner : total(counts, from, to)
	return attempts > 0 ? symptoms / attempts : 0
}

function total(
	{ attempts, symptoms }: SymptomCounts,
	from: number,
	to: number,
): [attempts: number, symptoms: number] {
	let [all, shown] = [0, 0]
	for (let bin = from; bin < to; bin++) {
		all += at(attempts, bin)
		shown += at(symptoms, bin)
	}
	return [all, shown]
}

/** A single bin between a lower and a higher level contains the change and is not a level of its own. */
function mergeTransitions(segments: readonly Segment[]): readonly Segment[] {
	const merged: Segment[] = []
	for (const [index, segment] of segments.entries()) {
		const before = merged.at(-1)
		const after = segments[index + 1]
		const isBetween =
			before &&
			after &&
			segment.to - segment.from === 1 &&
			(segment.level - before.level) * (after.level - segment.level) > 0
		if (isBetween) merged[merged.length - 1] = { ...before, to: segment.to }
		else merged.push(segment)
	}
	return merged
}

interface Context {
	readonly bins: AttemptBins
	readonly hasSymptom: Symptom
	readonly counts: SymptomCounts
}

function findEdge(context: Context, before: Segment, after: Segment): Edge {
	const { bins, counts } = context
	const from = Math.max(before.from, lastBin(counts, before) - 1)
	const to = Math.min(after.to, firstBin(counts, after) + 2)
	const observed = sortByTime(context, from, to)
	const low = limitShare(shareIn(counts, before))
	const high = limitShare(shareIn(counts, after))
	const gain = (hasIt: boolean) => Math.log(hasIt ? high / low : (1 - high) / (1 - low))
	/** The log-likelihood gained if the change comes before each attempt; the last entry is after all of them. */
	const gains = new Float64Array(observed.length + 1)
	for (const [index, { hasIt }] of [...observed.entries()].reverse())
		gains[index] = at(gains, index + 1) + gain(hasIt)
	const max = gains.reduce((a, b) => Math.max(a, b))
	const timeBefore = (index: number) => observed[index - 1]?.atMs ?? from * bins.widthMs
	const timeOf = (index: number) => observed[index]?.atMs ?? to * bins.widthMs
	const best = gains.indexOf(max)
	return {
		atMs: (timeBefore(best) + timeOf(best)) / 2,
		minMs: timeBefore(gains.findIndex((one) => one >= max - TOLERANCE)),
		maxMs: timeOf(gains.findLastIndex((one) => one >= max - TOLERANCE)),
	}
}

const limitShare = (share: number): number => Math.min(MAX_SHARE, Math.max(1 - MAX_SHARE, share))

/** The edge of a segment that lasts to the end of the events. */
function findLastEdge(context: Context, segment: Segment): Edge {
	const { bins, counts } = context
	const endMs = bins.length * bins.widthMs
	const last = lastBin(counts, segment)
	return { atMs: endMs, minMs: sortByTime(context, last, last + 1).at(-1)?.atMs ?? endMs, maxMs: endMs }
}

interface Observation {
	readonly atMs: number
	readonly hasIt: boolean
}

function sortByTime({ bins, hasSymptom }: Context, from: number, to: number): readonly Observation[] {
	const observed: Observation[] = []
	for (const index of bins.in(from, to)) {
		const hasIt = hasSymptom(index)
		if (hasIt !== undefined) observed.push({ atMs: bins.attempts.observedAt(index) - bins.origin, hasIt })
	}
	return observed.sort((a, b) => a.atMs - b.atMs || Number(a.hasIt) - Number(b.hasIt))
}

function lastBin({ attempts }: SymptomCounts, { from, to }: Segment): number {
	for (let bin = to - 1; bin >= from; bin--) if (at(attempts, bin) > 0) return bin
	return from
}

function firstBin({ attempts }: SymptomCounts, { from, to }: Segment): number {
	for (let bin = from; bin < to; bin++) if (at(attempts, bin) > 0) return bin
	return to - 1
}
