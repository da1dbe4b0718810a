/**
 * Decides whether a call passes. A synchronous state machine that receives the time and the outcome. The end of the
 * open time and a hung probe are noticed by the next caller, so that ten thousand breakers own no timer. A timer each
 * would wake the process for circuits without calls, and decide nothing earlier than the next call can.
 *
 * Every call gets a ticket. While the circuit is closed it is the generation, one number for all calls, which costs
 * nothing. A half-open circuit numbers each probe, so that it knows whose slot is free again. Tickets of an earlier
 * state are ignored.
 */
import type { RandomSource } from '../backoff/formula.ts'
import { TimeWindow } from '../structures/time-window.ts'
import { createOpenState, nextOpenState, type OpenState } from './open-state.ts'
import type { CircuitSettings } from './options.ts'
import { type Outcomes, openWindow, rateTrips, reopenWindow, saveOutcomes, tally } from './outcomes.ts'
import { type CircuitSnapshot, checkSnapshot, failureTimes, longestOpenMs } from './snapshot.ts'
import type { CircuitState, CircuitStats } from './stats.ts'

export class Circuit {
	settings: CircuitSettings
	state: CircuitState = 'closed'
	/** The ticket of every call that is admitted while closed; otherwise the last ticket. */
	generation = 0
	#outcomes: Outcomes | undefined
	/**
	 * Recent successes that are not in the window yet, and when the last of them was; undefined if the clock was not
	 * read.
	 */
	#recentSuccesses = 0
	#recentAt: number | undefined
	/** Successes after those, at unknown times. */
	#pendingSuccesses = 0
	/** When each failure since the last success occurred, as far as they are within the window. */
	#failures: number[] | undefined
	#openState: OpenState | undefined

	constructor(settings: CircuitSettings) {
		this.settings = settings
	}

	/** Called after every change of state. The layer overrides it. */
	onChange(_from: CircuitState, _to: CircuitState): void {}

	/**
	 * Admits a call and returns its ticket, or returns -1 to reject it. A caller that finds `state` closed may use
	 * `generation` as the ticket and skip reading the clock.
	 */
	admit(now: number, source: RandomSource): number {
		this.expireProbe(now, source)
		const outage = this.#openState
		if (!outage) return this.generation
		const { probes, until } = outage
		const from = this.state
		if (from === 'open' ? now < until : probes.size >= this.settings.halfOpenMaxConcurrent) {
			outage.rejected++
			return -1
		}
		this.state = 'half-open'
		const ticket = ++this.generation
		// Before listeners are notified, because a listener may call the breaker.
		probes.set(ticket, now)
		this.#notifyChange(from)
		return ticket
	}

	/**
	 * Records a success of an admitted call whose time may be unknown, for closed circuits without a rate rule. Most
	 * circuits have nothing else to record, and never allocate a window.
	 */
	recordSuccessFast(ticket: number, now: number | undefined): void {
		if (ticket !== this.generation) return
		if (this.#failures) this.#failures = undefined
		if (now === undefined) {
			this.#pendingSuccesses++
			return
		}
		// Within the length of a bucket, the order of successes makes no difference to the window.
		if (this.#pendingSuccesses || now - (this.#recentAt ?? now) > this.settings.monitorWindowMs / 10)
			this.#flushPendingSuccesses(now)
		this.#recentAt = Math.max(now, this.#recentAt ?? now)
		this.#recentSuccesses++
	}

	/** Records a success of an admitted call. */
	succeed(ticket: number, now: number, durationMs: number, source: RandomSource): void {
		this.#settle(ticket, now, durationMs, 0, undefined, source)
	}

	/** Records a failure of an admitted call. `retryAfterMs` is the wait that the dependency asked for. */
	fail(
		ticket: number,
		now: number,
		durationMs: number,
		retryAfterMs: number | undefined,
		source: RandomSource,
	): void {
		this.#settle(ticket, now, durationMs, 1, retryAfterMs, source)
	}

	/**
	 * An admitted call says nothing about the dependency: it was cancelled, or rejected further in. Frees its probe
	 * slot.
	 */
	ignore(ticket: number, now: number, source: RandomSource): void {
		this.expireProbe(now, source)
		this.#openState?.probes.delete(ticket)
	}

	/**
	 * Fails a hung probe as of the moment when its time was over: a caller that comes much later is the next probe
	 * immediately. Every method that depends on the time does this first, so the missing timer is not observable.
	 */
	expireProbe(now: number, source: RandomSource): void {
		if (this.state !== 'half-open') return
		const [startedAt = Infinity] = this.#openState?.probes.values() ?? []
		const dueAt = startedAt + this.settings.probeTimeoutMs
		if (now >= dueAt) this.#open(dueAt, undefined, source)
	}

	/**
	 * Returns the time until a call may pass: the rest of the open time or, if all probe slots are in use, of the
	 * oldest probe's timeout.
	 */
	retryAfterMs(now: number): number {
		const outage = this.#openState
		if (!outage) return 0
		const { probes, until } = outage
		const { halfOpenMaxConcurrent, probeTimeoutMs } = this.settings
		// An open circuit has no probes, and a half-open one is past its open time.
		if (probes.size < halfOpenMaxConcurrent) return Math.max(0, until - now)
		const [startedAt = 0] = probes.values()
		return Math.max(0, startedAt + probeTimeoutMs - now)
	}

	/** Closes the circuit and clears its counts. An isolated circuit stays isolated. */
	reset(): void {
		if (!this.#openState?.isolations) this.#enterState(undefined)
	}

	/** Forces the circuit open until every caller has released it. Then it is closed, with empty counts. */
	isolate(): () => void {
		const before = this.#openState
		const outage = before?.isolations ? before : createOpenState(Infinity, 0, 0, before?.rejected)
		outage.isolations++
		if (outage !== before) this.#enterState(outage)
		let isHeld = true
		return () => {
			if (!isHeld) return
			isHeld = false
			if (!--outage.isolations) this.#enterState(undefined)
		}
	}

	/** Changes settings. A current open time does not change. */
	update(settings: CircuitSettings, now: number, source: RandomSource): void {
		this.expireProbe(now, source)
		this.#flushPendingSuccesses(now)
		if (this.#outcomes) this.#outcomes = reopenWindow(this.#outcomes, this.settings, settings, now)
		if (settings.failureThreshold === Infinity) this.#failures = undefined
		this.settings = settings
	}

	/**
	 * An isolated circuit is saved as a closed one: its handles do not survive the process, and nothing else could
	 * release it.
	 */
	snapshot(now: number, wallNow: number, source: RandomSource): CircuitSnapshot {
		this.expireProbe(now, source)
		this.#flushPendingSuccesses(now)
		const outage = this.#openState
		const isIsolated = outage?.isolations
		return {
			version: 1,
			at: wallNow,
			state: isIsolated ? 'closed' : this.state,
			openForMs: outage && !isIsolated ? Math.max(0, outage.until - now) : 0,
			failedProbes: outage?.failedProbes ?? 0,
			delayMs: outage?.delayMs ?? 0,
			failureAgesMs: this.#failures?.map((at) => now - at) ?? [],
			outcomes: saveOutcomes(this.#outcomes, now),
		}
	}

	/**
	 * Restores the state of another circuit, aged by the wall clock. A clock that jumped back ages nothing, one that
	 * jumped ahead ages everything. Half-open is restored as open with no wait left, because its probes are gone. An
	 * isolation stays.
	 */
	restore(snapshot: CircuitSnapshot, now: number, wallNow: number): void {
		checkSnapshot(snapshot)
		if (this.#openState?.isolations) return
		const { settings } = this
		const passedMs = Math.max(0, wallNow - snapshot.at)
		const { state, openForMs, delayMs, failedProbes, outcomes } = snapshot
		const until = now + Math.max(0, Math.min(openForMs, longestOpenMs(settings)) - passedMs)
		this.#enterState(
			state === 'closed' ? undefined : createOpenState(until, delayMs, failedProbes),
			openWindow(settings, outcomes, now - passedMs),
			failureTimes(snapshot, settings, now - passedMs),
		)
	}

	stats(now: number, source: RandomSource): CircuitStats {
		this.expireProbe(now, source)
		this.#flushPendingSuccesses(now)
		const { state } = this
		const { successes = 0, rejected = 0 } = this.#openState ?? {}
		const { good, failed, slow, calls } =
			state === 'half-open'
				? { good: successes, failed: 0, slow: 0, calls: successes }
				: tally(this.#outcomes, now)
		return {
			state,
			failureCount: failed,
			successCount: good,
			errorRate: failed / (calls || 1),
			slowCallCount: slow,
			slowCallRate: slow / (calls || 1),
			consecutiveFailures:
				this.#failures?.filter((at) => now - at <= this.settings.monitorWindowMs).length ?? 0,
			rejectedCount: rejected,
			retryAfterMs: this.retryAfterMs(now),
		}
	}

	#settle(
		ticket: number,
		now: number,
		durationMs: number,
		failed: 0 | 1,
		retryAfterMs: number | undefined,
		source: RandomSource,
	): void {
		const { slowCallMs, successThreshold } = this.settings
		const outcome = durationMs >= slowCallMs ? failed + 2 : failed
		if (this.state === 'closed') {
			if (ticket === this.generation && this.#recordAndCheck(now, outcome, failed))
				this.#open(now, retryAfterMs, source)
			return
		}
		this.expireProbe(now, source)
		const outage = this.#openState
		if (!outage?.probes.delete(ticket)) return
		if (outcome) this.#open(now, retryAfterMs, source)
		else if (++outage.successes >= successThreshold) this.#enterState(undefined)
	}

	/** Records an outcome. Returns true if a rule opens the circuit. */
	#recordAndCheck(now: number, outcome: number, failed: 0 | 1): boolean {
		const { settings } = this
		const { failureThreshold, monitorWindowMs } = settings
		this.#flushPendingSuccesses(now)
		this.#outcomes ??= openWindow(settings)
		this.#outcomes.add(now, outcome)
		if (!failed) this.#failures = undefined
		else if (failureThreshold < Infinity) {
			// Not an empty array with `push`, for which V8 reserves room for 17 elements.
			if (this.#failures) this.#failures.push(now)
			else this.#failures = [now]
			const failures = this.#failures
			// Each failure enters and leaves once, and the circuit opens at the threshold, so this is cheap and the list is
			// bounded.
			while (now - (failures[0] ?? now) > monitorWindowMs) failures.shift()
			if (failures.length >= failureThreshold) return true
		}
		return rateTrips(settings, this.#outcomes, now)
	}

	/**
	 * Adds the pending successes to the window. Those without a time are assumed to be spread evenly since the last
	 * clock read.
	 */
	#flushPendingSuccesses(now: number): void {
		const undated = this.#pendingSuccesses
		if (!this.#recentSuccesses && !undated) return
		const { monitorWindowMs } = this.settings
		const since = this.#recentAt ?? now
		this.#outcomes ??= openWindow(this.settings)
		// A count window records every call when it ends, so this is a time window.
		if (this.#outcomes instanceof TimeWindow) {
			this.#outcomes.add(since, 0, this.#recentSuccesses)
			this.#outcomes.add(now, 0, Math.round(undated * Math.min(1, monitorWindowMs / (now - since))))
		}
		this.#clearPendingSuccesses()
	}

	#clearPendingSuccesses(): void {
		this.#recentSuccesses = this.#pendingSuccesses = 0
		this.#recentAt = undefined
	}

	#open(at: number, retryAfterMs: number | undefined, source: RandomSource): void {
		const outage = nextOpenState(this.settings, this.#openState, at, retryAfterMs, source)
		this.#enterState(outage, this.#outcomes, this.#failures)
	}

	/** Starts a new generation: closed, or open with an open state. Counts that are not passed on are cleared. */
	#enterState(outage: OpenState | undefined, outcomes?: Outcomes, failures?: number[]): void {
		const from = this.state
		this.#openState = outage
		this.#outcomes = outcomes
		this.#clearPendingSuccesses()
		this.#failures = failures
		this.state = outage ? 'open' : 'closed'
		this.generation++
		this.#notifyChange(from)
	}

	#notifyChange(from: CircuitState): void {
		if (from !== this.state) this.onChange(from, this.state)
	}
}
