/**
 * From bins to times. An outage does not begin with a bin: around each change of level the attempts themselves are gone
 * through in order, for the moment that parts them best. Where there are none, as behind an open breaker, the change may have
 * come at any time in between; the middle is taken, and the whole range told.
 */
import type { AttemptBins, Symptom } from './attempt-bins.ts'
import { findSegments, type Segment, type SymptomCounts } from './change-points.ts'
import { at } from './growable-array.ts'

/** A moment, and the range that it lies in, in milliseconds of the scenario. */
export interface Edge {
	readonly atMs: number
	readonly minMs: number
	readonly maxMs: number
}

interface Bounds extends Segment {
	readonly begins: Edge
	readonly ends: Edge
}

/** A stretch of one level that is not calm. */
export interface FaultWindow extends Bounds {
	readonly attempts: number
	readonly symptoms: number
	/** The share of attempts with the symptom. */
	readonly share: number
	/** Does it go on to the end of the events? */
	readonly isOpen: boolean
}

/** Likelihoods of certain things are those of nearly certain ones, for one odd attempt must not decide. */
const NEARLY = 0.998

/** A moment that is so much less likely than the best, in natural logarithms, is still in the range. */
const DOUBT = 2

/** Where a symptom is more frequent than when all is calm. `levels` are shares, from calm upwards. */
export function findFaultWindows(
	bins: AttemptBins,
	hasSymptom: Symptom,
	levels: readonly number[],
): { readonly shares: SymptomCounts; readonly spans: readonly FaultWindow[] } {
	const shares = bins.shares(hasSymptom)
	const segments = joined(findSegments(shares, levels))
	const around = { bins, hasSymptom, shares }
	const spans = segments.flatMap((segment, index) => {
		if (segment.level === 0) return []
		const [before, after] = [segments[index - 1], segments[index + 1]]
		const begins = before ? edge(around, before, segment) : { atMs: 0, minMs: 0, maxMs: 0 }
		const ends = after ? edge(around, segment, after) : lastEdge(around, segment)
		return { ...segment, begins, ends, isOpen: !after, ...countWithin(around, { ...segment, begins, ends }) }
	})
	return { shares, spans }
}

/** The attempts between the two edges. */
export function attemptsIn({ from, to, begins, ends }: Bounds, bins: AttemptBins): Uint32Array {
	const [first, last] = [bins.origin + begins.atMs, bins.origin + ends.atMs]
	return bins.in(Math.max(0, from - 2), Math.min(bins.length, to + 2)).filter((index) => {
		const at = bins.attempts.seenAt(index)
		return at >= first && at <= last
	})
}

function countWithin(
	{ bins, hasSymptom }: Around,
	bounds: Bounds,
): { attempts: number; symptoms: number; share: number } {
	let [attempts, symptoms] = [0, 0]
	for (const index of attemptsIn(bounds, bins)) {
		const isShown = hasSymptom(index)
		if (isShown !== undefined) attempts++
		if (isShown) symptoms++
	}
	return { attempts, symptoms, share: attempts > 0 ? symptoms / attempts : 0 }
}

/** Of the bins of a segment, without the outermost where there are others. */
function shareOf(shares: SymptomCounts, { from, to }: Segment): number {
	const [all, shown] = total(shares, from + 1, to - 1)
	if (all > 0) return shown / all
	const [few, fewShown] = total(shares, from, to)
	return few > 0 ? fewShown / few : 0
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

/** A single bin between two levels is the bin in which one became the other, and no level of its own. */
function joined(segments: readonly Segment[]): readonly Segment[] {
	const kept: Segment[] = []
	for (const [index, segment] of segments.entries()) {
		const before = kept.at(-1)
		const after = segments[index + 1]
		const isBetween =
			before &&
			after &&
			segment.to - segment.from === 1 &&
			(segment.level - before.level) * (after.level - segment.level) > 0
		if (isBetween) kept[kept.length - 1] = { ...before, to: segment.to }
		else kept.push(segment)
	}
	return kept
}

interface Around {
	readonly bins: AttemptBins
	readonly hasSymptom: Symptom
	readonly shares: SymptomCounts
}

function edge(around: Around, before: Segment, after: Segment): Edge {
	const { bins, shares } = around
	const from = Math.max(before.from, lastSeen(shares, before) - 1)
	const to = Math.min(after.to, firstSeen(shares, after) + 2)
	const seen = inOrder(around, from, to)
	const low = likely(shareOf(shares, before))
	const high = likely(shareOf(shares, after))
	const gain = (isShown: boolean) => Math.log(isShown ? high / low : (1 - high) / (1 - low))
	/** What is gained when the change comes before each of them; and, last, after all. */
	const gains = new Float64Array(seen.length + 1)
	for (const [index, { isShown }] of [...seen.entries()].reverse())
		gains[index] = at(gains, index + 1) + gain(isShown)
	const most = gains.reduce((a, b) => Math.max(a, b))
	const momentBefore = (index: number) => seen[index - 1]?.atMs ?? from * bins.widthMs
	const momentOf = (index: number) => seen[index]?.atMs ?? to * bins.widthMs
	const best = gains.indexOf(most)
	return {
		atMs: (momentBefore(best) + momentOf(best)) / 2,
		minMs: momentBefore(gains.findIndex((one) => one >= most - DOUBT)),
		maxMs: momentOf(gains.findLastIndex((one) => one >= most - DOUBT)),
	}
}

const likely = (share: number): number => Math.min(NEARLY, Math.max(1 - NEARLY, share))

/** The events end before it does. */
function lastEdge(around: Around, segment: Segment): Edge {
	const { bins, shares } = around
	const endMs = bins.length * bins.widthMs
	const last = lastSeen(shares, segment)
	return { atMs: endMs, minMs: inOrder(around, last, last + 1).at(-1)?.atMs ?? endMs, maxMs: endMs }
}

interface Seen {
	readonly atMs: number
	readonly isShown: boolean
}

function inOrder({ bins, hasSymptom }: Around, from: number, to: number): readonly Seen[] {
	const seen: Seen[] = []
	for (const index of bins.in(from, to)) {
		const isShown = hasSymptom(index)
		if (isShown !== undefined) seen.push({ atMs: bins.attempts.seenAt(index) - bins.origin, isShown })
	}
	return seen.sort((a, b) => a.atMs - b.atMs || Number(a.isShown) - Number(b.isShown))
}

function lastSeen({ attempts }: SymptomCounts, { from, to }: Segment): number {
	for (let bin = to - 1; bin >= from; bin--) if (at(attempts, bin) > 0) return bin
	return from
}

function firstSeen({ attempts }: SymptomCounts, { from, to }: Segment): number {
	for (let bin = from; bin < to; bin++) if (at(attempts, bin) > 0) return bin
	return to - 1
}
