/**
 * When did a share change? Time is cut into bins, each with so many attempts of which so many show a symptom, and the course of
 * levels is found that explains the bins best, where every change of level has a price (the path that Viterbi's algorithm finds).
 * A threshold for each bin was rejected: with one call a second no bin can pass it, and with a thousand every ripple does.
 * Bins without attempts, as behind an open breaker, say nothing, and the level before or after them goes on.
 */

import { at } from './growable-array.ts'

/** Attempts in each bin, and those of them that show the symptom. */
export interface SymptomCounts {
	readonly attempts: Float64Array
	readonly symptoms: Float64Array
}

/** Bins of one level. */
export interface Segment {
	/** The first bin, and the one after the last. */
	readonly from: number
	readonly to: number
	/** 0 is calm. */
	readonly level: number
}

/** What a change of level must gain, in natural logarithms of likelihood: about 1 in 3,000. */
const PRICE = 8

/** More attempts than this in a bin add nothing, for rates waver in the real world by more than chance. */
const MOST = 40

/** `levels` are shares, from calm upwards, none of them 0 or 1. */
export function findSegments(
	{ attempts, symptoms }: SymptomCounts,
	levels: readonly number[],
): readonly Segment[] {
	const length = attempts.length
	const width = levels.length
	const yes = levels.map(Math.log)
	const no = levels.map((level) => Math.log(1 - level))
	/** Where the best way to each level came from, bin by bin. */
	const from = new Uint8Array(length * width)
	let score = levels.map((_, level) => (level === 0 ? 0 : -PRICE))
	for (let bin = 0; bin < length; bin++) {
		const best = bestOf(score)
		const all = at(attempts, bin)
		const weight = all > MOST ? MOST / all : 1
		const shown = at(symptoms, bin) * weight
		const others = all * weight - shown
		const least = at(score, best) - PRICE
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
