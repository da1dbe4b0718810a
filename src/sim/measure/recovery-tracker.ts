/**
 * Decides whether and when one client, or one service, recovered from faults. Two conditions must hold: every
 * call that was caught by the fault has ended, and new calls succeed again. A client is judged by its calls.
 * A service is judged by the requests that reach it, which are calls here: they succeed if they are processed
 * successfully while the caller waits, and those in its queue at the end of the fault must have left it.
 * Requests that were being processed then do not matter: a slow worker whose caller has left does no harm,
 * unless new requests fail for lack of workers.
 *
 * New calls succeed again from the time from which on every window is good, to the end of the run or to the
 * next fault:
 * - A window is 5 s long, or longer until it has 10 calls. There is one from every step of 100 ms, and one
 *   over all that follows.
 * - It is good if at least 95 % as many of its calls succeed as before the first fault. Where calls failed
 *   before the fault, it may fall short of that by three standard deviations, which is chance; and one failed
 *   call is always chance. A client without calls or without successes before the fault is compared with 100
 *   %.
 * - Calls belong to the window in which they started, because a late success belongs to the past. A call that
 *   is still in flight counts as failed once it has taken longer than any good call; until then it is left
 *   out.
 *
 * If less than one window follows the fault, or the last bad one, nothing is shown: the run ended too soon.
 * If no call starts after the fault, only calls that it caught can show a recovery, by succeeding after it.
 * Accepting the first good window was rejected because the run may relapse, and a pool of all clients because
 * one that always fails can hide in it.
 *
 * The steps are the tracker's own, so that the result depends neither on the length of the run nor on the
 * steps of its timeline. When they are full they are merged in pairs. Windows that were judged before stay as
 * they are. A window is never shorter than a step, which matters four hours after a fault.
 */
import { type Judgement, RecoverySteps, succeedAsBefore, WINDOW_MS } from './health-windows.ts'
import type { Recovery, RecoveryStatus, RunRecovery } from './result.ts'

export class RecoveryTracker {
	readonly #periods: readonly FaultPeriod[]
	readonly #baselineFromMs: number
	readonly #before = { ended: 0, good: 0 }
	/** The recoveries from all faults but the last. */
	readonly #earlier: Recovery[] = []
	/** Index of the current fault, of the one before, or of the next if there was none yet. */
	#index = 0
	#phase: 'before' | 'fault' | 'after' = 'before'
	#phaseEndsAt: number
	/** When the current fault ends, the one before ended, or the next will end. */
	#endedAt: number
	readonly #steps = new RecoverySteps()
	#inFlight = 0
	/** Calls in flight that started by the end of the fault, and when the last such call ended. */
	#caught = 0
	#caughtEndedAt = 0
	/** Calls that started by the end of the fault and ended after it. */
	#caughtResults = { ended: 0, good: 0 }
	#callsAfter = 0
	/** The longest durations of a good call, and of any call. */
	#longestGoodMs = 0
	#longestMs = 0

	/** `baselineFromMs`: calls that start earlier do not count as normal. */
	constructor(periods: readonly FaultPeriod[], baselineFromMs = 0) {
		this.#periods = periods
		this.#baselineFromMs = baselineFromMs
		this.#phaseEndsAt = periods[0]?.fromMs ?? Infinity
		this.#endedAt = periods[0]?.toMs ?? Infinity
	}

	/** A call started, and may be caught by a fault until it has ended. */
	start(now: number): void {
		this.count(now)
		this.#inFlight++
	}

	end(startedAt: number, now: number, isGood: boolean): void {
		this.judge(startedAt, now, isGood)
		this.#leave(startedAt, now)
	}

	/** A fault catches what has entered and not left. A request enters and leaves the queue of a service. */
	enter(now: number): void {
		if (now >= this.#phaseEndsAt) this.#changePhase(now)
		this.#inFlight++
	}

	leave(enteredAt: number, now: number): void {
		if (now >= this.#phaseEndsAt) this.#changePhase(now)
		this.#leave(enteredAt, now)
	}

	#leave(enteredAt: number, now: number): void {
		this.#inFlight--
		if (this.#phase !== 'after' || enteredAt > this.#endedAt) return
		this.#caught--
		this.#caughtEndedAt = now
	}

	count(now: number): void {
		if (now >= this.#phaseEndsAt) this.#changePhase(now)
		if (this.#phase !== 'after') return
		this.#callsAfter++
		this.#makeRoom(now).started(now - this.#endedAt)
	}

	/** Counts the end of a call that was counted. */
	judge(startedAt: number, now: number, isGood: boolean): void {
		if (now >= this.#phaseEndsAt) this.#changePhase(now)
		const durationMs = now - startedAt
		if (durationMs > this.#longestMs) this.#longestMs = durationMs
		if (isGood && durationMs > this.#longestGoodMs) this.#longestGoodMs = durationMs
		if (this.#phase === 'after') {
			if (startedAt > this.#endedAt) this.#steps.ended(startedAt - this.#endedAt, isGood)
			else {
				this.#caughtResults.ended++
				if (isGood) this.#caughtResults.good++
			}
		} else if (this.#phase === 'before' && startedAt >= this.#baselineFromMs) {
			this.#before.ended++
			if (isGood) this.#before.good++
		}
	}

	/**
	 * Returns the recovery from each period, or undefined if the last had not ended. `isOver`: no calls will
	 * follow. `isIdle`: nothing at all will happen.
	 */
	recoveries(endedAtMs: number, isOver: boolean, isIdle: boolean): readonly Recovery[] | undefined {
		if (endedAtMs >= this.#phaseEndsAt) this.#changePhase(endedAtMs)
		const isLast = this.#index === this.#periods.length - 1
		if (!isLast || endedAtMs < this.#endedAt) return undefined
		// A run may end exactly with the fault.
		if (this.#phase === 'fault') this.#caught = this.#inFlight
		return [...this.#earlier, this.#conclude(endedAtMs, isOver || isIdle, isIdle)]
	}

	/** A call that starts exactly when the fault ends is caught by it; one that ends exactly when it starts is too. */
	#changePhase(now: number): void {
		while (now >= this.#phaseEndsAt) {
			if (this.#phase !== 'fault') {
				if (this.#phase === 'after') {
					this.#earlier.push(this.#conclude(this.#phaseEndsAt, false, false))
					this.#endedAt = this.#periods[++this.#index]?.toMs ?? Infinity
				}
				this.#phase = 'fault'
				this.#phaseEndsAt = this.#endedAt
			} else {
				if (now === this.#phaseEndsAt) return
				this.#phase = 'after'
				this.#phaseEndsAt = this.#periods[this.#index + 1]?.fromMs ?? Infinity
				this.#steps.clear()
				this.#caught = this.#inFlight
				this.#caughtEndedAt = 0
				this.#caughtResults = { ended: 0, good: 0 }
				this.#callsAfter = 0
			}
		}
	}

	#makeRoom(now: number): RecoverySteps {
		const steps = this.#steps
		while (!steps.hasRoom(now - this.#endedAt)) steps.merge(this.#judgement(now, false, false))
		return steps
	}

	#judgement(endedAtMs: number, isOver: boolean, isIdle: boolean): Judgement {
		const lengthMs = endedAtMs - this.#endedAt
		// Nothing ends the calls of an idle run.
		return this.#steps.judge(this.#before, lengthMs, isIdle ? -Infinity : this.#longestGoodMs, isOver)
	}

	#conclude(endedAtMs: number, isOver: boolean, isIdle: boolean): Recovery {
		const faultEndedAtMs = this.#endedAt
		const lengthMs = endedAtMs - faultEndedAtMs
		const { health } = this.#judgement(endedAtMs, isOver, isIdle)
		const isShownByCaught =
			isOver && this.#callsAfter === 0 && succeedAsBefore(this.#caughtResults, this.#before)
		const healthyAfterMs = typeof health === 'number' ? health : isShownByCaught ? 0 : null
		const drainedAfterMs = this.#caught > 0 ? null : Math.max(0, this.#caughtEndedAt - faultEndedAtMs)
		const isRecovered = healthyAfterMs !== null && drainedAfterMs !== null
		const recoveredAfterMs = isRecovered ? Math.max(healthyAfterMs, drainedAfterMs) : null
		// A caught call may still end: as long as others took, and for at least a window.
		const isStuck = drainedAfterMs === null && (isIdle || lengthMs >= Math.max(WINDOW_MS, this.#longestMs))
		const status: RecoveryStatus =
			recoveredAfterMs !== null
				? 'recovered'
				: health === 'failing' || isStuck
					? 'not-recovered'
					: 'not-shown'
		return {
			status,
			faultEndedAtMs,
			healthyAfterMs,
			drainedAfterMs,
			recoveredAfterMs,
			heldForMs: recoveredAfterMs === null ? null : lengthMs - recoveredAfterMs,
			callsAfter: this.#callsAfter,
		}
	}
}

/** The times in which at least one fault is active. */
export interface FaultPeriod {
	readonly fromMs: number
	readonly toMs: number
}

/** Returns the periods of all faults in order. Faults that overlap, or follow each other without a gap, are one period. */
export function faultPeriods(faults: readonly FaultPeriod[]): readonly FaultPeriod[] {
	const periods: { fromMs: number; toMs: number }[] = []
	for (const { fromMs, toMs } of faults.toSorted((a, b) => a.fromMs - b.fromMs)) {
		const last = periods.at(-1)
		if (last && fromMs <= last.toMs) last.toMs = Math.max(last.toMs, toMs)
		else periods.push({ fromMs, toMs })
	}
	return periods
}

/** From the best to the worst. */
const STATUSES: readonly RecoveryStatus[] = ['recovered', 'not-shown', 'not-recovered']

/** Combines the recoveries of clients and services, each a list by fault: a run has recovered when all have. */
export function worstRecovery(lists: readonly (readonly Recovery[] | undefined)[]): RunRecovery | null {
	const known = lists.filter((list) => list !== undefined)
	const faults = (known[0] ?? []).map((_, index) => worst(known.flatMap((list) => list[index] ?? [])))
	const last = faults.at(-1)
	return last ? { ...last, faults } : null
}

/** Calls of a client that did not call after the fault show nothing, so the others decide if there are any. */
const isSilent = ({ status, callsAfter, drainedAfterMs }: Recovery): boolean =>
	status === 'not-shown' && callsAfter === 0 && drainedAfterMs !== null

function worst(every: readonly Recovery[]): Recovery {
	const conclusive = every.filter((one) => !isSilent(one))
	const all = conclusive.some(({ callsAfter }) => callsAfter > 0) ? conclusive : every
	/** Returns the latest or the shortest of their times; null if one of them has none. */
	const select = (choose: typeof Math.max, of: (one: Recovery) => number | null): number | null => {
		const times = all.map(of).filter((time) => time !== null)
		return times.length < all.length ? null : choose(...times)
	}
	return {
		status: STATUSES.findLast((status) => all.some((one) => one.status === status)) ?? 'recovered',
		faultEndedAtMs: all[0]?.faultEndedAtMs ?? 0,
		healthyAfterMs: select(Math.max, (one) => one.healthyAfterMs),
		drainedAfterMs: select(Math.max, (one) => one.drainedAfterMs),
		recoveredAfterMs: select(Math.max, (one) => one.recoveredAfterMs),
		heldForMs: select(Math.min, (one) => one.heldForMs),
		callsAfter: Math.max(0, ...all.map(({ callsAfter }) => callsAfter)),
	}
}
