/**
 * Whether a call is let through. A synchronous state machine that is told the time and the outcome: the end of the open
 * time and a hung probe are noticed by whoever comes next, so that ten thousand breakers own no timer. A timer for each
 * would wake the process for circuits that nobody asks about, and decide nothing earlier than the next call can.
 *
 * Every call gets a ticket. While closed it is the generation, one number for all of them, which costs nothing; a
 * half-open circuit numbers each probe, so that it knows whose place is free again. Tickets of another state are unknown.
 */
import type { RandomSource } from '../backoff/jitter.ts'
import { TimeWindow } from '../structures/time-window.ts'
import { createOpenState, nextOpenState, type OpenState } from './open-state.ts'
import type { CircuitSettings } from './options.ts'
import { type Outcomes, openWindow, rateTrips, reopenWindow, saveOutcomes, tally } from './outcomes.ts'
import { type CircuitSnapshot, checkSnapshot, failureTimes, longestOpenMs } from './snapshot.ts'
import type { CircuitState, CircuitStats } from './stats.ts'

export class Circuit {
	settings: CircuitSettings
	state: CircuitState = 'closed'
	/** The ticket of every call that is let in while closed; otherwise the latest that was given. */
	generation = 0
	#outcomes: Outcomes | undefined
	/** The latest successes, and when the latest of them was; undefined when nobody looked. They are not in the window yet. */
	#recentSuccesses = 0
	#recentAt: number | undefined
	/** Successes after those, at times that nobody looked at. */
	#pendingSuccesses = 0
	/** When each failure since the latest success was, as far as they lie in the window. */
	#failures: number[] | undefined
	#openState: OpenState | undefined

	constructor(settings: CircuitSettings) {
		this.settings = settings
	}

	/** Told of every change, after it: for who owns the circuit to say what is to be done. */
	onChange(_from: CircuitState, _to: CircuitState): void {}

	/**
	 * Lets a call in and answers its ticket, or refuses it with -1, a ticket that counts for nothing. A caller that finds
	 * `state` closed may take `generation` as the ticket and spare itself the clock.
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
		// Before anybody is told, for who hears of it may call at once.
		probes.set(ticket, now)
		this.#notifyChange(from)
		return ticket
	}

	/**
	 * An admitted call went well, at a time that need not be known: for circuits that have no rate rule and are closed. Most
	 * have nothing else to tell, and are spared a window.
	 */
	recordSuccessFast(ticket: number, now: number | undefined): void {
		if (ticket !== this.generation) return
		if (this.#failures) this.#failures = undefined
		if (now === undefined) {
			this.#pendingSuccesses++
			return
		}
		// Within a bucket's length it makes no difference to the window which of them was when.
		if (this.#pendingSuccesses || now - (this.#recentAt ?? now) > this.settings.monitorWindowMs / 10)
			this.#flushPendingSuccesses(now)
		this.#recentAt = Math.max(now, this.#recentAt ?? now)
		this.#recentSuccesses++
	}

	/** An admitted call went well. */
	succeed(ticket: number, now: number, durationMs: number, source: RandomSource): void {
		this.#settle(ticket, now, durationMs, 0, undefined, source)
	}

	/** An admitted call failed. `retryAfterMs` is when the other side wants to be asked again, if it said so. */
	fail(
		ticket: number,
		now: number,
		durationMs: number,
		retryAfterMs: number | undefined,
		source: RandomSource,
	): void {
		this.#settle(ticket, now, durationMs, 1, retryAfterMs, source)
	}

	/** An admitted call says nothing about the other side: cancelled, or refused further in. It only gives its place back. */
	ignore(ticket: number, now: number, source: RandomSource): void {
		this.expireProbe(now, source)
		this.#openState?.probes.delete(ticket)
	}

	/**
	 * Gives up on a probe that hangs, as of the moment when its time was up: who comes long after is the next probe at once.
	 * Whatever is told the time and depends on it does this first, so nobody can see that there is no timer.
	 */
	expireProbe(now: number, source: RandomSource): void {
		if (this.state !== 'half-open') return
		const [startedAt = Infinity] = this.#openState?.probes.values() ?? []
		const dueAt = startedAt + this.settings.probeTimeoutMs
		if (now >= dueAt) this.#open(dueAt, undefined, source)
	}

	/** Until a call may be let through: what is left of the open time, or of the oldest probe's when all places are taken. */
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

	/** Closed, as though nothing had happened. An isolated circuit stays open. */
	reset(): void {
		if (!this.#openState?.isolations) this.#enterState(undefined)
	}

	/** Holds the circuit open until each who did has released it; then it is closed, as though nothing had happened. */
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

	/** Other settings from now on. An open time that is running stays as it is. */
	update(settings: CircuitSettings, now: number, source: RandomSource): void {
		this.expireProbe(now, source)
		this.#flushPendingSuccesses(now)
		if (this.#outcomes) this.#outcomes = reopenWindow(this.#outcomes, this.settings, settings, now)
		if (settings.failureThreshold === Infinity) this.#failures = undefined
		this.settings = settings
	}

	/** An isolated circuit is written down as a fresh one: its handles do not live on, and nobody else could release it. */
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
	 * What another circuit was, so much later by the wall clock. One that jumped back lets nothing age, one that jumped
	 * ahead lets all of it. Half-open comes back as open with nothing left to wait: its probes are gone. Isolation stays.
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

	/** Writes an outcome down, and answers whether any rule has had enough. */
	#recordAndCheck(now: number, outcome: number, failed: 0 | 1): boolean {
		const { settings } = this
		const { failureThreshold, monitorWindowMs } = settings
		this.#flushPendingSuccesses(now)
		this.#outcomes ??= openWindow(settings)
		this.#outcomes.add(now, outcome)
		if (!failed) this.#failures = undefined
		else if (failureThreshold < Infinity) {
			// Not an empty list to push to, for which V8 sets room for 17 aside at once.
			if (this.#failures) this.#failures.push(now)
			else this.#failures = [now]
			const failures = this.#failures
			// Each failure comes and goes once, and at the threshold the circuit opens: this is cheap and never grows beyond.
			while (now - (failures[0] ?? now) > monitorWindowMs) failures.shift()
			if (failures.length >= failureThreshold) return true
		}
		return rateTrips(settings, this.#outcomes, now)
	}

	/** Puts the latest successes into the window. Those that nobody dated are taken to be spread evenly since the latest look. */
	#flushPendingSuccesses(now: number): void {
		const undated = this.#pendingSuccesses
		if (!this.#recentSuccesses && !undated) return
		const { monitorWindowMs } = this.settings
		const since = this.#recentAt ?? now
		this.#outcomes ??= openWindow(this.settings)
		// A count window is told of every call as it ends, so this is one of time.
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

	/** Another generation: closed, or open when there is an outage. What is not handed over is forgotten. */
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
