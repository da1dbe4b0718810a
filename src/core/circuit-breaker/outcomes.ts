/**
 * What calls came to, over time or over the latest so many. An outcome is one number, so that a call is recorded once,
 * whatever is asked about it later: 0 good, 1 failed, 2 good but slow, 3 failed and slow. Where no call is slow a window
 * has only the first two, which halves what a breaker weighs; of the others it then has none.
 */
import { TimeWindow } from '../structures/time-window.ts'
import { CountWindow } from './count-window.ts'
import type { CircuitSettings } from './options.ts'

export type Outcomes = TimeWindow | CountWindow

/** Of a count window each call, oldest first, a digit each; of a time window how many there are of each outcome. */
export type SavedOutcomes = string | readonly number[]

const kindsOf = ({ slowCallMs }: CircuitSettings): number => (slowCallMs < Infinity ? 4 : 2)

/**
 * A window with what was saved of another: a count window keeps the latest, a time window keeps all as though it had
 * happened at that time. From one to the other there is no way, for mere counts have no order, and it begins empty.
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

/** The window under other settings: the same one, unless they ask for one of another make. */
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

/** How many calls were good, failed, were slow, and were made at all. */
export function tally(
	window: Outcomes | undefined,
	now: number,
): { good: number; failed: number; slow: number; calls: number } {
	const [quick = 0, failed = 0, slow = 0, slowFailed = 0] = sums(window, now)
	const calls = quick + failed + slow + slowFailed
	return { good: quick + slow, failed: failed + slowFailed, slow: slow + slowFailed, calls }
}

/** Whether failures or slow calls have too great a share. */
export function rateTrips(settings: CircuitSettings, window: Outcomes, now: number): boolean {
	const { errorRateThreshold, slowCallMs, slowCallRateThreshold, minimumRequests } = settings
	// Most breakers have no rate rule, and need not count for every call.
	if (errorRateThreshold === Infinity && slowCallMs === Infinity) return false
	const { failed, slow, calls } = tally(window, now)
	// Quotients, for 7 / 25 is 0.28 while 0.28 * 25 is a little more than 7.
	return (
		calls >= minimumRequests &&
		(failed / calls >= errorRateThreshold || slow / calls >= slowCallRateThreshold)
	)
}

const sums = (window: Outcomes | undefined, now: number): number[] =>
	window ? [window.sum(now, 0), window.sum(now, 1), window.sum(now, 2), window.sum(now, 3)] : [0, 0, 0, 0]
