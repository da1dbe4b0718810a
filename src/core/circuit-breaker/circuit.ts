/**
 * Decides whether a call passes. A synchronous state machine that receives the time and the outcome. The end
 * of the open time and a hung probe are noticed by the next caller, so that ten thousand breakers own no
 * timer. A timer each would wake the process for circuits without calls, and decide nothing earlier than the
 * next call can.
 *
 * Every call gets a ticket. While the circuit is closed it is the generation, one number for all calls, which
 * costs nothing. A half-open circuit numbers each probe, so that it knows whose slot is free again. Tickets
 * of an earlier state are ignored.
 */
import type { RandomSource } from '../backoff/formula.ts'
import type { CircuitState } from '../events/events.ts'
import { CallCounts } from './call-counts.ts'
import { nextOpenState, type OpenState } from './open-state.ts'
import type { CircuitSettings } from './options.ts'
import { type Outcomes, sums } from './outcomes.ts'

/** The state and the counts of a circuit. Read it from `stats` of a `CircuitBreaker`. */
export interface CircuitBreakerStats {
	readonly state: CircuitState
	/** Failed calls in the window or, while half-open, failed and slow probes. */
	readonly failureCount: number
	/** Successful calls in the window or, while half-open, successful probes. */
	readonly successCount: number
	/** The share of failed calls; 0 if there were no calls. */
	readonly errorRate: number
	readonly slowCallCount: number
	/** The share of slow calls; 0 if there were no calls. */
	readonly slowCallRate: number
	/** Consecutive failures within the window; 0 if that rule is off. */
	readonly consecutiveFailures: number
	/** Calls rejected since the circuit was last closed. */
	readonly rejectedCount: number
	/** The time until a call may pass; 0 if one may pass now, Infinity while isolated. */
	readonly retryAfterMs: number
	/**
	 * True if the circuit is open and its open time has passed: the next call is a probe. A circuit has no
	 * timer, so without calls it stays open.
	 */
	readonly canProbe: boolean
}

/** The circuit's layer. A function in its place would be a closure for each of ten thousand circuits. */
interface CircuitListener {
	onChange(from: CircuitState, to: CircuitState): void
}

const NO_PROBE = [0, Infinity] as const

export class Circuit extends CallCounts {
	state: CircuitState = 'closed'
	/** The ticket of every call that is admitted while closed; otherwise the last ticket. */
	generation = 0
	/** Undefined while closed. */
	openState: OpenState | undefined
	/** Notified after every change of state. */
	listener: CircuitListener | undefined

	constructor(settings: CircuitSettings, listener?: CircuitListener) {
		super(settings)
		this.listener = listener
	}

	/**
	 * Admits a call and returns its ticket, or returns -1 to reject it. A caller that finds `state` closed may
	 * use `generation` as the ticket and skip reading the clock.
	 */
	admit(now: number, source: RandomSource): number {
		this.expireProbe(now, source)
		const { openState } = this
		if (!openState) return this.generation
		const { probes, until } = openState
		const from = this.state
		if (from === 'half-open' ? probes.size >= this.settings.halfOpenMaxConcurrent : now < until) {
			openState.rejected++
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
	 * Records a success of an admitted call whose time may be unknown, for closed circuits without a rate rule.
	 * Most circuits have nothing else to record, and never allocate a window.
	 */
	recordSuccessFast(ticket: number, now: number | undefined): void {
		if (ticket !== this.generation) return
		this.countSuccess(now)
	}

	succeed(ticket: number, now: number, durationMs: number, source: RandomSource): void {
		this.#settle(ticket, now, durationMs, 0, undefined, undefined, source)
	}

	/**
	 * Records a failure of an admitted call. `retryAfterMs` is the wait that the dependency asked for. `error`
	 * is kept for as long as the circuit is not closed, if it opens the circuit.
	 */
	fail(
		ticket: number,
		now: number,
		durationMs: number,
		retryAfterMs: number | undefined,
		source: RandomSource,
		error?: unknown,
	): void {
		this.#settle(ticket, now, durationMs, 1, retryAfterMs, error, source)
	}

	/**
	 * Frees the probe slot of an admitted call that says nothing about the dependency, because it was cancelled
	 * or rejected further in.
	 */
	ignore(ticket: number, now: number, source: RandomSource): void {
		this.expireProbe(now, source)
		this.openState?.probes.delete(ticket)
	}

	/**
	 * Fails a hung probe as of the moment when its time was over: a caller that comes much later is the next
	 * probe immediately. Every method that depends on the time does this first, so the missing timer is not
	 * observable.
	 */
	expireProbe(now: number, source: RandomSource): void {
		while (this.openState && this.state === 'half-open') {
			const { openState } = this
			const [[ticket, startedAt] = NO_PROBE] = openState.probes
			const dueAt = startedAt + this.settings.probeTimeoutMs
			if (now < dueAt) return
			openState.probes.delete(ticket)
			this.#countProbe(openState, dueAt, true, undefined, undefined, source)
		}
	}

	/**
	 * Returns the time until a call may pass: the rest of the open time. If all probe slots are in use, it is
	 * unknown when a probe ends. A probe usually ends long before its timeout, so this returns at most the last
	 * open time.
	 */
	retryAfterMs(now: number): number {
		const { openState } = this
		if (!openState) return 0
		const { probes, until, delayMs } = openState
		const { halfOpenMaxConcurrent, probeTimeoutMs } = this.settings
		// An open circuit has no probes, and a half-open one is past its open time.
		if (probes.size < halfOpenMaxConcurrent) return Math.max(0, until - now)
		const [startedAt = 0] = probes.values()
		return Math.max(0, Math.min(startedAt + probeTimeoutMs - now, delayMs || Infinity))
	}

	/** Closes the circuit and clears its counts. An isolated circuit closes when it is released. */
	reset(): void {
		this.replaceState('closed')
	}

	/** Changes settings. A current open time does not change. */
	update(settings: CircuitSettings, now: number, source: RandomSource): void {
		this.expireProbe(now, source)
		this.changeSettings(settings, now)
	}

	stats(now: number, source: RandomSource): CircuitBreakerStats {
		this.expireProbe(now, source)
		this.flushPendingSuccesses(now)
		const { state } = this
		const retryAfterMs = this.retryAfterMs(now)
		const { successes = 0, failures = 0, rejected = 0 } = this.openState ?? {}
		const [quick = 0, failed = 0, slow = 0, slowFailed = 0] =
			state === 'half-open' ? [successes, failures] : sums(this.outcomes, now)
		const failureCount = failed + slowFailed
		const successCount = quick + slow
		const slowCallCount = slow + slowFailed
		const calls = failureCount + successCount || 1
		return {
			state,
			failureCount,
			successCount,
			errorRate: failureCount / calls,
			slowCallCount,
			slowCallRate: slowCallCount / calls,
			consecutiveFailures:
				this.failures?.filter((at) => now - at <= this.settings.monitorWindowMs).length ?? 0,
			rejectedCount: rejected,
			retryAfterMs,
			canProbe: state === 'open' && !retryAfterMs,
		}
	}

	#settle(
		ticket: number,
		now: number,
		durationMs: number,
		failed: 0 | 1,
		retryAfterMs: number | undefined,
		error: unknown,
		source: RandomSource,
	): void {
		const outcome = durationMs >= this.settings.slowCallMs ? failed + 2 : failed
		if (this.state === 'closed') {
			if (ticket === this.generation && this.countCall(now, outcome, failed))
				this.#open(now, retryAfterMs, error, source)
			return
		}
		this.expireProbe(now, source)
		const { openState } = this
		if (openState?.probes.delete(ticket))
			this.#countProbe(openState, now, outcome > 0, retryAfterMs, error, source)
	}

	/** Counts a probe that has ended. Failed probes open the circuit when they reach their share. */
	#countProbe(
		openState: OpenState,
		now: number,
		hasFailed: boolean,
		retryAfterMs: number | undefined,
		error: unknown,
		source: RandomSource,
	): void {
		const { successThreshold, halfOpenFailureRate } = this.settings
		if (hasFailed) openState.failures++
		else openState.successes++
		const { successes, failures } = openState
		if (failures && failures / successThreshold >= halfOpenFailureRate)
			this.#open(now, retryAfterMs, error, source)
		else if (successes + failures >= successThreshold) this.replaceState('closed')
	}

	#open(at: number, retryAfterMs: number | undefined, error: unknown, source: RandomSource): void {
		this.enterState('open', nextOpenState(this.settings, this.openState, at, retryAfterMs, source, error))
	}

	/** Enters a state with these counts. An isolated circuit enters it when it is released. */
	replaceState(state: CircuitState, openState?: OpenState, outcomes?: Outcomes, failures?: number[]): void {
		const current = this.openState
		this.replaceCounts(outcomes, failures)
		if (current?.isolation) {
			Object.assign(current.isolation, { state, openState })
			current.rejected = 0
		} else this.enterState(state, openState)
	}

	/** Starts a new generation, with an open state unless it is closed. The counts stay. */
	enterState(state: CircuitState, openState?: OpenState): void {
		const from = this.state
		this.openState = openState
		this.state = state
		this.generation++
		this.#notifyChange(from)
	}

	#notifyChange(from: CircuitState): void {
		if (from !== this.state) this.listener?.onChange(from, this.state)
	}
}
