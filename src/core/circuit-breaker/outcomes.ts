/**
 * The outcomes of calls, over time or over the last calls. An outcome is one number, so that a call is
 * recorded once for all rules: 0 success, 1 failure, 2 slow success, 3 slow failure. If no call counts as
 * slow, a window has only the first two, which halves a breaker's memory.
 */
import { TimeWindow } from '../structures/time-window.ts'
import type { CircuitSettings } from './options.ts'

export type Outcomes = TimeWindow | CountWindow

/** Count window: one digit per call, oldest first. Time window: the number of each outcome. */
export type SavedOutcomes = string | readonly number[]

const kindsOf = ({ slowCallMs }: CircuitSettings): number => (slowCallMs < Infinity ? 4 : 2)

/**
 * Creates a window with the saved outcomes of another: a count window keeps the last ones, a time window
 * keeps all as if they had happened at `at`. Between the two kinds nothing is carried over, because counts
 * have no order.
 */
export function openWindow(settings: CircuitSettings, saved?: SavedOutcomes, at = 0): Outcomes {
	const { windowSize, monitorWindowMs } = settings
	const kinds = kindsOf(settings)
	if (windowSize < Infinity)
		return new CountWindow(windowSize, kinds, typeof saved === 'string' ? saved : undefined)
	const window = new TimeWindow(monitorWindowMs, kinds)
	if (typeof saved === 'object')
		for (const [outcome, count] of saved.entries()) if (count) window.add(at, outcome % kinds, count)
	return window
}

/** Returns the window for other settings: the same one, unless they need another kind. */
export const reopenWindow = (
	window: Outcomes,
	before: CircuitSettings,
	after: CircuitSettings,
	now: number,
): Outcomes =>
	before.windowSize === after.windowSize &&
	before.monitorWindowMs === after.monitorWindowMs &&
	kindsOf(before) === kindsOf(after)
		? window
		: openWindow(after, saveOutcomes(window, now), now)

export const saveOutcomes = (window: Outcomes | undefined, now: number): SavedOutcomes =>
	window instanceof CountWindow ? window.outcomes() : sums(window, now)

/** Returns true if the share of failures or of slow calls reaches its threshold. */
export function rateTrips(settings: CircuitSettings, window: Outcomes, now: number): boolean {
	const { errorRateThreshold, slowCallMs, slowCallRateThreshold, minimumRequests } = settings
	// Most breakers have no rate rule and skip the counting.
	if (errorRateThreshold === Infinity && slowCallMs === Infinity) return false
	// Sum by sum, not by `sums`, whose array costs a third of a recorded success.
	const slowFailed = window.sum(now, 3)
	const failed = window.sum(now, 1) + slowFailed
	const slow = window.sum(now, 2) + slowFailed
	if (!failed && !slow) return false
	const calls = window.sum(now, 0) + failed + slow - slowFailed
	// Quotients, because 7 / 25 is 0.28 while 0.28 * 25 is slightly more than 7.
	return (
		calls >= minimumRequests &&
		(failed / calls >= errorRateThreshold || slow / calls >= slowCallRateThreshold)
	)
}

/** Returns the numbers of successes, failures, slow successes and slow failures. */
export const sums = (window: Outcomes | undefined, now: number): number[] =>
	window ? [window.sum(now, 0), window.sum(now, 1), window.sum(now, 2), window.sum(now, 3)] : [0, 0, 0, 0]

/**
 * The last calls, whenever they were: a ring of their outcomes with running sums, so that a call costs the
 * same however large the window is. It has the same `add` and `sum` as a TimeWindow and ignores the time. One
 * byte per call; a list of objects would take forty times as much.
 */
class CountWindow {
	readonly #ring: Uint8Array
	readonly #sums = [0, 0, 0, 0]
	/** The number of outcomes that were ever added: gives the next index, and whether an old outcome leaves. */
	#added = 0

	/** Starts with the last of `outcomes`, one digit each. */
	constructor(size: number, kinds: number, outcomes = '') {
		this.#ring = new Uint8Array(size)
		for (const outcome of outcomes) this.add(0, Number(outcome) % kinds)
	}

	add(_now: number, outcome: number): void {
		const ring = this.#ring
		const place = this.#added++ % ring.length
		if (this.#added > ring.length) this.#change(ring[place], -1)
		ring[place] = outcome
		this.#change(outcome, 1)
	}

	sum(_now: number, outcome: number): number {
		return this.#sums[outcome] ?? 0
	}

	/** Returns every outcome in the window, oldest first, one digit each. */
	outcomes(): string {
		const ring = this.#ring
		const next = this.#added % ring.length
		return this.#added < ring.length
			? ring.subarray(0, next).join('')
			: ring.subarray(next).join('') + ring.subarray(0, next).join('')
	}

	#change(outcome = 0, by: number): void {
		this.#sums[outcome] = this.sum(0, outcome) + by
	}
}
