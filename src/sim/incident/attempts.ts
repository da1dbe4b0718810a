/**
 * The attempts that reached the service, as evidence of how it was. Of each: when it began, how long it took as far as
 * that is known, and what it came to. The policy that made them is gone from here on.
 */

import { detailOf, OUTCOME, outcomeOf } from './attempt-outcome.ts'
import { at, GrowableArray, quantile } from './growable-array.ts'
import { eachWithin, type Observers } from './observers.ts'
import { pairedBegins } from './pairing.ts'
import type { TimeRange } from './time-range.ts'

export class Attempts {
	length = 0
	/** Wall times. */
	readonly begin: Float64Array
	readonly end: Float64Array
	/** One of VERDICT. */
	readonly outcome: Uint8Array
	/** The status of a failure, or 0. */
	readonly status: Uint16Array
	/** 1 where the begin is a guess, and with it the duration. */
	readonly isGuessed: Uint8Array
	/** 1 where the load that the service had is reason enough for a slow answer or none. */
	readonly isExplained: Uint8Array

	constructor(room: number) {
		this.begin = new Float64Array(room)
		this.end = new Float64Array(room)
		this.outcome = new Uint8Array(room)
		this.status = new Uint16Array(room)
		this.isGuessed = new Uint8Array(room)
		this.isExplained = new Uint8Array(room)
	}

	/** `tookMs` is NaN where it is not known. */
	add(end: number, tookMs: number, code: number): void {
		const index = this.length++
		const verdict = outcomeOf(code)
		this.begin[index] = end - (tookMs || 0)
		this.end[index] = end
		this.outcome[index] = verdict
		this.status[index] = verdict === OUTCOME.failed ? detailOf(code) : 0
		this.isGuessed[index] = Number.isNaN(tookMs) ? 1 : 0
	}

	/** Of one that hung, how long it was waited for. */
	durationMs(index: number): number {
		return at(this.end, index) - at(this.begin, index)
	}

	/** When the service was what the attempt shows: a failure shows it when it came, the others when they were begun. */
	seenAt(index: number): number {
		return at(this.outcome[index] === OUTCOME.failed ? this.end : this.begin, index)
	}

	/** Is this an answer, and is it known how long it took? */
	isTimed(index: number): boolean {
		return this.outcome[index] === OUTCOME.answered && this.isGuessed[index] === 0
	}

	/** By a time, and what has the same in an order that does not depend on that of the lines. */
	inOrder(by: Float64Array, indices: Uint32Array): Uint32Array {
		const { begin, end, outcome, status } = this
		const more = (values: ArrayLike<number>, a: number, b: number) => at(values, a) - at(values, b)
		return indices.sort(
			(a, b) =>
				more(by, a, b) || more(begin, a, b) || more(end, a, b) || more(outcome, a, b) || more(status, a, b),
		)
	}
}

export function attemptsOf(observers: Observers, stretch: TimeRange): Attempts {
	const rows = observers.attempts
	const attempts = new Attempts(rows.reduce((sum, { length }) => sum + length, 0))
	const hungMs = patienceOf(observers, stretch)
	eachWithin(rows, stretch, (end, _, attemptMs, code) => {
		const verdict = outcomeOf(code)
		const isHung = verdict === OUTCOME.hung && Number.isNaN(attemptMs)
		if (verdict <= OUTCOME.hung) attempts.add(end, isHung ? hungMs : attemptMs, code)
	})
	guessBegins(attempts, observers, stretch, hungMs)
	return attempts
}

/** How long attempts that hung were waited for, where an event does not say. */
function patienceOf({ attempts, shortestTimeoutMs }: Observers, stretch: TimeRange): number {
	// The timeout of an attempt is the shortest of a pipeline.
	if (shortestTimeoutMs < Infinity) return shortestTimeoutMs
	const known = new GrowableArray()
	eachWithin(attempts, stretch, (_, __, attemptMs, code) => {
		if (outcomeOf(code) === OUTCOME.hung && attemptMs >= 0) known.add(attemptMs)
	})
	return known.length > 0 ? quantile(known.sorted(), 0.5) : 0
}

/** Only attempts that a retry told of are without a begin: those of calls that were made again. */
function guessBegins(attempts: Attempts, observers: Observers, stretch: TimeRange, hungMs: number): void {
	const { length, end, begin, isGuessed } = attempts
	const guessed = Uint32Array.from({ length }, (_, index) => index).filter((index) => isGuessed[index])
	if (guessed.length === 0) return
	const begins = new GrowableArray()
	const known = new GrowableArray()
	const note = (endedAt: number, attemptMs: number, code: number) => {
		if (outcomeOf(code) === OUTCOME.hung) known.add(endedAt - (attemptMs || hungMs))
		else if (outcomeOf(code) === OUTCOME.refused) known.add(endedAt)
	}
	eachWithin(observers.endings, stretch, (endedAt, callMs, attemptMs, code) => {
		if (attemptMs === callMs) return
		begins.add(endedAt - callMs)
		note(endedAt, attemptMs, code)
	})
	eachWithin(observers.repeats, stretch, (endedAt, delayMs, attemptMs, code) => {
		begins.add(endedAt + delayMs)
		note(endedAt, attemptMs, code)
	})
	const order = attempts.inOrder(end, guessed)
	const ends = Float64Array.from(order, (index) => at(end, index))
	const longestMs = hungMs > 0 ? hungMs : longestOf(attempts)
	const found = pairedBegins({ begins, known, knownMs: hungMs, longestMs }, ends)
	for (const [place, index] of order.entries()) begin[index] = at(found, place)
}

/** The longest duration that is known, of those that ended by themselves. */
function longestOf(attempts: Attempts): number {
	let longest = 0
	for (let index = 0; index < attempts.length; index++)
		if (!attempts.isGuessed[index]) longest = Math.max(longest, attempts.durationMs(index))
	return longest
}
