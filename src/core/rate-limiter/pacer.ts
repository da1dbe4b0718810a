/**
 * Decides when calls may start. A pacer reserves start times in order, now or later, and never reads a clock:
 * the policy does the waiting. It counts in integer ticks of 1/1024 ms, because sums of fractions end
 * slightly early, which is one call too many. Starts are rounded up and elapsed time is rounded down, so that
 * no call starts too early, measured by the times that were passed in. (Rejected: comparing with a tolerance,
 * which lets that call through.)
 */
export interface Pacer {
	/** Returns when the next call may start: `now` or later. Changes nothing. */
	next(now: number): number
	/** Reserves the next start. Returns its time, never before an earlier reservation (to the tick). */
	reserve(now: number): number
	/**
	 * Undoes the latest reservation if it is at this time, and returns true; otherwise nothing changes. A start
	 * before a later one cannot be undone, because the later one depends on it.
	 */
	cancel(at: number, now: number): boolean
	/** Returns how many calls may start now. Only `next` accepts a time in the future. */
	available(now: number): number
	/** Changes the settings. Reservations stay, and cannot be undone anymore. */
	update(limit: number, intervalMs: number, burst: number, now: number): void
}

/** Ticks per millisecond: a power of two, so that the multiplication is exact. */
export const TICKS = 1024

/** Returns the tick of a start. */
export const tickAfter = (ms: number): number => Math.ceil(ms * TICKS)
