/**
 * When calls may start. A pacer books starts one after the other, each at once or later, and never reads a clock: waiting
 * is for the policy to do. It counts in whole ticks of 1/1024 ms, for sums of fractions come out a hair early, and a hair
 * is one call too many. What has started is rounded up and what has passed is rounded down, so that no start comes before
 * its time by the very times that were handed in. (Comparing with a tolerance would let the hair through.)
 */
export interface Pacer {
	/** When the next call may start: `now` or later. Changes nothing. */
	next(now: number): number
	/** Books it and returns when it starts: not before an earlier booking, as finely as a tick can tell. */
	reserve(now: number): number
	/** Gives a booking back that was not used. Its place stays taken as long as a later booking stands. */
	cancel(at: number, now: number): void
	/** How many calls could start at once now. Only `next` may be asked about a time to come. */
	available(now: number): number
	/** Other settings; what is booked stays. All but `now` are whole numbers above 0. */
	update(limit: number, intervalMs: number, burst: number, now: number): void
}

/** How many ticks a millisecond has: a power of two, by which a time can be multiplied without loss. */
export const TICKS = 1024

/** The tick of a start. */
export const tickAfter = (ms: number): number => Math.ceil(ms * TICKS)

/**
 * Bookings that were given back while later ones stood. A place in the middle can not be used again: who books next would
 * overtake those who wait, or the times between would be too short. But when all that wait give up, first come first, every
 * place must be free again, or the limiter would sit out a queue of nobody. So a place is remembered until it is the latest.
 */
export class CancelledReservations {
	readonly #places = new Map<number, number>()

	/** `latest` tells the tick of the latest booking that stands, NaN when that is not known; `undo` takes that one back. */
	add(tick: number, now: number, latest: () => number, undo: () => void): void {
		const places = this.#places
		for (const place of places.keys()) {
			if (place > now) break
			places.delete(place)
		}
		places.set(tick, (places.get(tick) ?? 0) + 1)
		for (let at = latest(); places.has(at); at = latest()) {
			const others = (places.get(at) ?? 0) - 1
			if (others) places.set(at, others)
			else places.delete(at)
			undo()
		}
	}
}
