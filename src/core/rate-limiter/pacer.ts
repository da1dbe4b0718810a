/**
 * Decides when calls may start. A pacer reserves start times in order, now or later, and never reads a clock: the policy
 * does the waiting. It counts in integer ticks of 1/1024 ms, because sums of fractions end slightly early, which is one
 * call too many. Starts are rounded up and elapsed time is rounded down, so that no call starts too early, measured by
 * the times that were passed in. (Rejected: comparing with a tolerance, which lets that call through.)
 */
export interface Pacer {
	/** Returns when the next call may start: `now` or later. Changes nothing. */
	next(now: number): number
	/** Reserves the next start and returns its time, which is never before an earlier reservation (to the tick). */
	reserve(now: number): number
	/** Cancels an unused reservation. Its start stays taken while a later reservation exists. */
	cancel(at: number, now: number): void
	/** Returns how many calls may start now. Only `next` accepts a time in the future. */
	available(now: number): number
	/** Changes the settings; reservations stay. All arguments but `now` are integers above 0. */
	update(limit: number, intervalMs: number, burst: number, now: number): void
}

/** Ticks per millisecond: a power of two, so that the multiplication is exact. */
export const TICKS = 1024

/** Returns the tick of a start. */
export const tickAfter = (ms: number): number => Math.ceil(ms * TICKS)

/**
 * Reservations that were cancelled while later ones existed. A start in the middle cannot be reused: the next caller would
 * overtake the waiting ones, or the distance between starts would be too short. But when all waiting callers leave, first
 * come first, every start must be free again, or the limiter would wait for a queue that is empty. So a cancelled start
 * is remembered until it is the latest.
 */
export class CancelledReservations {
	/** The number of cancelled reservations per tick. */
	readonly #counts = new Map<number, number>()

	/** `latest` returns the tick of the latest reservation, NaN if unknown; `undo` removes that reservation. */
	add(tick: number, now: number, latest: () => number, undo: () => void): void {
		const counts = this.#counts
		for (const cancelled of counts.keys()) {
			if (cancelled > now) break
			counts.delete(cancelled)
		}
		counts.set(tick, (counts.get(tick) ?? 0) + 1)
		for (let at = latest(); counts.has(at); at = latest()) {
			const others = (counts.get(at) ?? 0) - 1
			if (others) counts.set(at, others)
			else counts.delete(at)
			undo()
		}
	}
}
