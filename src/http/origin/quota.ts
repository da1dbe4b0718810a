/**
 * How much of a server's quota is left, as far as a client can know. The server's word is older than the requests that are on their way,
 * so those are taken off it; and answers overtake each other, so within a window the least that was said is the newest: a server
 * only counts down. An answer that says more is an old one, but it shows that its own request had
 * been counted by then, and is no longer taken off. Without that, sixty requests at once would be taken off twice, and callers
 * would wait with half of the quota unused.
 */
import type { QuotaReport } from '../headers/quota-report.ts'

/** Resets are told in whole seconds, and by answers that took more or less time: two that differ by less are the same. */
const SAME_RESET_MS = 2_000

export class Quota {
	/** The least that the server said remains, in this window. Infinite when nothing is known. */
	#said = Number.POSITIVE_INFINITY
	/** Requests that may not have been counted when it said so. */
	#uncounted = 0
	/** Those of them that were already there when the window began. */
	#carried = 0
	/** When this window ends, and when the one before it did. */
	#resetAt = Number.NEGATIVE_INFINITY
	#endedAt = Number.NEGATIVE_INFINITY
	/** What a window begins with. Infinite when that is not known. */
	#limit = Number.POSITIVE_INFINITY
	#windowMs = 0

	/** How long a request has to wait: 0 when it may go now, otherwise until the reset. Ask again after that. */
	waitMs(now: number): number {
		this.#turn(now)
		return this.#said - this.#uncounted >= 1 ? 0 : this.#resetAt - now
	}

	/** A request goes out. */
	spend(now: number): void {
		this.#turn(now)
		this.#uncounted++
	}

	/** A response said this. `inFlight` counts the requests that are under way without it. */
	report(now: number, report: QuotaReport, inFlight: number): void {
		this.#turn(now)
		const { remaining } = report
		const resetAt = now + report.resetMs
		const slack = Math.min(SAME_RESET_MS, this.#windowMs / 2)
		if (resetAt <= this.#endedAt + slack) {
			this.#countedBefore()
			return
		}
		const isLater = resetAt > this.#resetAt + slack
		if (remaining > this.#said && !isLater) {
			this.#uncounted = Math.max(0, this.#uncounted - 1)
			return
		}
		// The server's window may end a little before ours. Much before, it is no new window but the same one told anew, and then
		// an answer with the old reset is a correction and not late.
		if (isLater && now >= this.#resetAt - slack) this.#endedAt = this.#resetAt
		const isSame = !isLater && resetAt >= this.#resetAt - slack
		this.#resetAt = isSame ? Math.max(resetAt, this.#resetAt) : resetAt
		this.#said = remaining
		this.#uncounted = inFlight
		this.#carried = 0
		this.#learn(report)
	}

	/** The sizes of a window. One whose length is not told is at least as long as the longest time to its reset. */
	#learn({ limit = Number.POSITIVE_INFINITY, windowMs, resetMs }: QuotaReport): void {
		const known = limit === this.#limit ? this.#windowMs : 0
		this.#windowMs = windowMs ?? Math.max(known, resetMs)
		this.#limit = limit
	}

	/** A late answer of the window before: its request does not count in this one. */
	#countedBefore(): void {
		if (this.#carried === 0) return
		this.#carried--
		this.#uncounted--
	}

	/** Begins the next window when this one is over. It begins now, for many servers start it with the first request. */
	#turn(now: number): void {
		if (now < this.#resetAt || this.#said === Number.POSITIVE_INFINITY) return
		this.#endedAt = this.#resetAt
		// A limit of 0 would shut the quota for good: nobody would ask again.
		const isKnown = this.#limit >= 1 && Number.isFinite(this.#limit) && this.#windowMs > 0
		this.#said = isKnown ? this.#limit : Number.POSITIVE_INFINITY
		this.#resetAt = isKnown ? now + this.#windowMs : Number.NEGATIVE_INFINITY
		// What is still under way may be counted in the new window. Only once: an answer that never came must not be missed forever.
		this.#carried = this.#uncounted - this.#carried
		this.#uncounted = this.#carried
	}
}
