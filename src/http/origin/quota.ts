/**
 * Tracks how much of a server's quota is left, as far as a client can know. A report is older than the
 * requests in flight, so those are subtracted from it. Responses overtake each other, and a server only
 * counts down, so within a window the lowest reported value is the newest. A higher value is outdated, but it
 * proves that the server had counted that request, so the request is no longer subtracted. Without this,
 * sixty concurrent requests would be subtracted twice, and callers would wait with half of the quota unused.
 */
import type { QuotaReport } from '../headers/rate-limit-headers.ts'

/** The longest pause. One response must not block an origin permanently. */
export const MAX_PAUSE_MS = 3_600_000

/** Resets that differ by less are the same: servers report whole seconds, with varying latency. */
const SAME_RESET_MS = 2_000

export class Quota {
	/** The lowest remaining count reported in this window; infinite if unknown. */
	#reported = Infinity
	/** Requests that the server may not have counted at the time of the report. */
	#uncounted = 0
	/** The uncounted requests that were in flight when the window began. */
	#carried = 0
	/** End of this window. */
	#resetAt = -Infinity
	/** End of the previous window. */
	#endedAt = -Infinity
	/** Requests per window; infinite if unknown. */
	#limit = Infinity
	#windowMs = 0

	/** Returns 0 if a request may be sent now, otherwise the time until the reset. Check again after that. */
	waitMs(now: number): number {
		this.#startNextWindow(now)
		return this.#reported - this.#uncounted >= 1 ? 0 : this.#resetAt - now
	}

	/** Counts a request that is being sent. */
	spend(now: number): void {
		this.#startNextWindow(now)
		this.#uncounted++
	}

	/** Applies the report of a response. `inFlight` counts the requests in flight without this one. */
	report(now: number, report: QuotaReport, inFlight: number): void {
		this.#startNextWindow(now)
		const { remaining } = report
		const resetAt = now + Math.min(report.resetMs, MAX_PAUSE_MS)
		const slack = Math.min(SAME_RESET_MS, this.#windowMs / 2)
		if (resetAt <= this.#endedAt + slack) {
			this.#countInPreviousWindow()
			return
		}
		const isLater = resetAt > this.#resetAt + slack
		if (remaining > this.#reported && !isLater) {
			this.#uncounted = Math.max(0, this.#uncounted - 1)
			return
		}
		// The server's window may end slightly before ours. If it ends much earlier, this is a correction of the
		// same window and not a new one, and later reports with the old reset are not late.
		if (isLater && now >= this.#resetAt - slack) this.#endedAt = this.#resetAt
		const isSame = !isLater && resetAt >= this.#resetAt - slack
		this.#resetAt = isSame ? Math.max(resetAt, this.#resetAt) : resetAt
		this.#reported = remaining
		this.#uncounted = inFlight
		this.#carried = 0
		this.#updateWindow(report)
	}

	/** If the server does not report the window's length, the longest time to a reset is used. */
	#updateWindow({ limit = Infinity, windowMs, resetMs }: QuotaReport): void {
		const knownMs = limit === this.#limit ? this.#windowMs : 0
		this.#windowMs = Math.min(windowMs ?? Math.max(knownMs, resetMs), MAX_PAUSE_MS)
		this.#limit = limit
	}

	/** A late response of the previous window: its request does not count in this one. */
	#countInPreviousWindow(): void {
		if (this.#carried === 0) return
		this.#carried--
		this.#uncounted--
	}

	/** Starts the next window if this one has ended: now, because many servers start it with a request. */
	#startNextWindow(now: number): void {
		if (now < this.#resetAt || this.#reported === Infinity) return
		this.#endedAt = this.#resetAt
		// A limit of 0 would block permanently: without requests there are no new reports.
		const isKnown = this.#limit >= 1 && this.#limit < Infinity && this.#windowMs > 0
		this.#reported = isKnown ? this.#limit : Infinity
		this.#resetAt = isKnown ? now + this.#windowMs : -Infinity
		// Requests in flight may count in the new window, but only once: a response that never arrives must not
		// be subtracted forever.
		this.#carried = this.#uncounted - this.#carried
		this.#uncounted = this.#carried
	}
}
