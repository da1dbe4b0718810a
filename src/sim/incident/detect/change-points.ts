/**
 * Finds the times at which a share changes. Given the attempts and symptoms per bin, the Viterbi algorithm
 * finds the sequence of levels that explains the bins best, where every change of level has a cost. A
 * threshold per bin was rejected: with one call per second no bin reaches it, and with a thousand every
 * fluctuation does. Bins without attempts, for example while a circuit is open, keep the level of their
 * neighbors.
 */
import type { SymptomCounts } from '../log/attempts.ts'
import { at } from '../log/numbers.ts'

export interface Segment {
	/** The first bin, and the one after the last. */
	readonly from: number
	readonly to: number
	/** Index into the levels; 0 is normal. */
	readonly level: number
}

/** The log-likelihood that a change of level must gain: odds of about 3,000 to 1. */
const CHANGE_COST = 8

/** The weight of a bin is capped at this many attempts, because real rates fluctuate more than a random sample. */
const MAX_WEIGHT = 40

/** `levels` are shares in ascending order, all above 0 and below 1. */
export function findSegments(
	{ attempts, symptoms }: SymptomCounts,
	levels: readonly number[],
): readonly Segment[] {
	const length = attempts.length
	const width = levels.length
	const yes = levels.map(Math.log)
	const no = levels.map((level) => Math.log(1 - level))
	/** The predecessor of each level on the best path, per bin. */
	const from = new Uint8Array(length * width)
	let score = levels.map((_, level) => (level === 0 ? 0 : -CHANGE_COST))
	for (let bin = 0; bin < length; bin++) {
		const best = bestOf(score)
		const all = at(attempts, bin)
		const weight = all > MAX_WEIGHT ? MAX_WEIGHT / all : 1
		const shown = at(symptoms, bin) * weight
		const others = all * weight - shown
		const least = at(score, best) - CHANGE_COST
		score = score.map((stay, level) => {
			const moves = stay < least
			from[bin * width + level] = moves ? best : level
			return (moves ? least : stay) + shown * at(yes, level) + others * at(no, level)
		})
	}
	return walkBack(from, width, bestOf(score), length)
}

function bestOf(score: readonly number[]): number {
	let best = 0
	for (let level = 1; level < score.length; level++) if (at(score, level) > at(score, best)) best = level
	return best
}

function walkBack(from: Uint8Array, width: number, last: number, length: number): readonly Segment[] {
	const segments: Segment[] = []
	let [level, to] = [last, length]
	for (let bin = length - 1; bin >= 0; bin--) {
		const before = at(from, bin * width + level)
		if (before === level && bin > 0) continue
		segments.push({ from: bin, to, level })
		level = before
		to = bin
	}
	return segments.reverse()
}
