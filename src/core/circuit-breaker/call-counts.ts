/**
 * What a circuit counts while it is closed. A base class and not a part, because there may be a breaker for
 * each of ten thousand hosts: most circuits count nothing but successes, and never allocate a window.
 */
import { TimeWindow } from '../structures/time-window.ts'
import type { CircuitSettings } from './options.ts'
import { type Outcomes, openWindow, rateTrips, reopenWindow } from './outcomes.ts'

export class CallCounts {
	settings: CircuitSettings
	outcomes: Outcomes | undefined
	/** When each failure since the last success occurred, as far as they are within the window. */
	failures: number[] | undefined
	/**
	 * Recent successes that are not in the window yet, and when the first of them was; undefined if the clock
	 * was not read. Not the last: successes in short steps would all count as recent, however long ago they
	 * began.
	 */
	#recentSuccesses = 0
	#recentAt: number | undefined
	/** Successes after those, at unknown times. */
	#pendingSuccesses = 0

	constructor(settings: CircuitSettings) {
		this.settings = settings
	}

	/** Counts a success whose time may be unknown, if there is no rate rule. */
	protected countSuccess(now: number | undefined): void {
		if (this.failures) this.failures = undefined
		if (now === undefined) {
			this.#pendingSuccesses++
			return
		}
		// Within the length of a bucket, the order of successes makes no difference to the window.
		if (this.#pendingSuccesses || now - (this.#recentAt ?? now) > this.settings.monitorWindowMs / 10)
			this.flushPendingSuccesses(now)
		this.#recentAt ??= now
		this.#recentSuccesses++
	}

	/** Counts a call. Returns true if a rule opens the circuit. */
	protected countCall(now: number, outcome: number, failed: 0 | 1): boolean {
		const { settings } = this
		const { failureThreshold, monitorWindowMs } = settings
		this.flushPendingSuccesses(now)
		this.outcomes ??= openWindow(settings)
		this.outcomes.add(now, outcome)
		if (!failed) this.failures = undefined
		else if (failureThreshold < Infinity) {
			// Not an empty array with `push`, for which V8 reserves room for 17 elements.
			if (this.failures) this.failures.push(now)
			else this.failures = [now]
			const { failures } = this
			// Each failure enters and leaves once, and the circuit opens at the threshold, so this is cheap and the
			// list is bounded.
			while (now - (failures[0] ?? now) > monitorWindowMs) failures.shift()
			if (failures.length >= failureThreshold) return true
		}
		return rateTrips(settings, this.outcomes, now)
	}

	/**
	 * Adds the pending successes to the window. Those without a time are assumed to be spread evenly since the
	 * last clock read.
	 */
	flushPendingSuccesses(now: number): void {
		const undated = this.#pendingSuccesses
		if (!this.#recentSuccesses && !undated) return
		const { monitorWindowMs } = this.settings
		const since = this.#recentAt ?? now
		this.outcomes ??= openWindow(this.settings)
		// A count window records every call when it ends, so this is a time window.
		if (this.outcomes instanceof TimeWindow) {
			this.outcomes.add(since, 0, this.#recentSuccesses)
			this.outcomes.add(now, 0, Math.round(undated * Math.min(1, monitorWindowMs / (now - since))))
		}
		this.#clearPendingSuccesses()
	}

	protected replaceCounts(outcomes: Outcomes | undefined, failures: number[] | undefined): void {
		this.outcomes = outcomes
		this.failures = failures
		this.#clearPendingSuccesses()
	}

	protected changeSettings(settings: CircuitSettings, now: number): void {
		this.flushPendingSuccesses(now)
		if (this.outcomes) this.outcomes = reopenWindow(this.outcomes, this.settings, settings, now)
		if (settings.failureThreshold === Infinity) this.failures = undefined
		this.settings = settings
	}

	#clearPendingSuccesses(): void {
		this.#recentSuccesses = this.#pendingSuccesses = 0
		this.#recentAt = undefined
	}
}
