/**
 * Rejected calls per second, from a counter that is read now and then. Counting the calls would cost something per
 * rejected call and circuit; the counter of the circuit exists anyway.
 */

/** A rate is over at least this time, and at most twice as long while it is read often. */
const SPAN_MS = 5_000

/** An older reading says nothing about now. */
const MAX_AGE_MS = 60_000

const MIN_SPAN_MS = 1_000

interface Reading {
	readonly count: number
	readonly at: number
}

export class RejectionRate {
	#base: Reading | undefined
	#latest: Reading | undefined

	/** `sinceMs`: since when the counter counts, if that is known. */
	read(count: number, now: number, sinceMs: number | null): number {
		const reading = { count, at: now }
		const latest = this.#latest
		if (!latest || count < latest.count || now - latest.at > MAX_AGE_MS) this.#base = this.#latest = reading
		else if (now - latest.at >= SPAN_MS) {
			this.#base = latest
			this.#latest = reading
		}
		const { count: before, at } = this.#base ?? reading
		if (now - at >= MIN_SPAN_MS) return perSecond(count - before, now - at)
		return sinceMs === null ? 0 : perSecond(count, Math.max(sinceMs, MIN_SPAN_MS))
	}
}

const perSecond = (count: number, ms: number): number => (count * 1_000) / ms
