/** A dependency that fails from time to time, decided by a seed: how long each attempt takes, and its result. */

import { HttpError } from 'yaoki'
import type { VirtualRuntime } from 'yaoki/testing'
import type { CallbackOperation } from '../../src/testing/callback-runner.ts'

type Regime = 'fair' | 'down' | 'flaky' | 'slow' | 'hung' | 'throttling'
const OUTAGES: readonly Regime[] = ['down', 'flaky', 'slow', 'hung', 'throttling']

/** The duration and the result of an attempt. */
export interface AttemptOutcome {
	/** Infinity if it never settles. */
	readonly takesMs: number
	readonly error: unknown
	/** True if it stops when its signal is aborted. */
	readonly listens: boolean
}

export interface FaultScheduleOptions {
	readonly random: () => number
	readonly lastsMs: number
	/** The mean time between two outages. */
	readonly fairMs: number
	/** The share of hung operations that never settle. The others settle minutes later. */
	readonly neverShare: number
}

export class FaultSchedule {
	readonly #options: FaultScheduleOptions
	#regime: Regime = 'fair'
	#until = 0

	constructor(options: FaultScheduleOptions) {
		this.#options = options
		this.#until = options.fairMs * options.random()
	}

	/** Must be called in the order of time. With `mayBeImmediate` some operations settle synchronously. */
	outcome(now: number, mayBeImmediate: boolean): AttemptOutcome {
		const { random } = this.#options
		const regime = this.#at(now)
		const draw = random()
		const usualMs = 5 - 40 * Math.log(1 - random())
		if (draw < 0.001) return { takesMs: usualMs, error: new HttpError(400), listens: false }
		switch (regime) {
			case 'down':
				return { takesMs: mayBeImmediate && draw < 0.5 ? 0 : usualMs, error: reset(), listens: false }
			case 'flaky':
				return { takesMs: usualMs, error: draw < 0.4 ? reset() : undefined, listens: false }
			case 'slow':
				return { takesMs: usualMs * 30, error: undefined, listens: draw < 0.3 }
			case 'hung':
				return this.#hung(draw, usualMs)
			case 'throttling': {
				const retryAfterMs = Math.floor(500 * random())
				const error = draw < 0.7 ? new HttpError(429, undefined, { retryAfterMs }) : undefined
				return { takesMs: usualMs / 4, error, listens: false }
			}
			default:
				return {
					takesMs: mayBeImmediate && draw < 0.05 ? 0 : usualMs,
					error: draw > 0.995 ? reset() : undefined,
					listens: draw > 0.9,
				}
		}
	}

	#hung(draw: number, usualMs: number): AttemptOutcome {
		const { random, neverShare } = this.#options
		if (draw > 0.6) return { takesMs: usualMs, error: undefined, listens: false }
		const takesMs = random() < neverShare ? Infinity : 1_000 + 200_000 * random()
		return { takesMs, error: draw < 0.3 ? reset() : undefined, listens: false }
	}

	#at(now: number): Regime {
		const { random, fairMs, lastsMs } = this.#options
		while (now >= this.#until) {
			const isFair = this.#regime !== 'fair' || now >= lastsMs
			this.#regime = isFair ? 'fair' : (OUTAGES[Math.floor(random() * OUTAGES.length)] ?? 'down')
			this.#until += (isFair ? fairMs : fairMs / 4) * (0.5 + random())
		}
		return this.#regime
	}
}

const reset = (): Error => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

/** Counts the timers of the soak itself, so that all other pending timers belong to the policies. */
export class CountedTimers {
	pending = 0
	readonly #clock: VirtualRuntime

	constructor(clock: VirtualRuntime) {
		this.#clock = clock
	}

	set(ms: number, fn: () => void): () => void {
		this.pending++
		let isPending = true
		const end = () => {
			if (isPending) this.pending--
			isPending = false
		}
		const cancel = this.#clock.setTimer(ms, () => {
			end()
			fn()
		})
		return () => {
			end()
			cancel()
		}
	}
}

/** Runs an attempt to its outcome. Calls `settled` before the policies are notified. */
export function runAttempt(
	{ takesMs, error, listens }: AttemptOutcome,
	context: Parameters<CallbackOperation<string>>[0],
	timers: CountedTimers,
	done: Parameters<CallbackOperation<string>>[1],
	settled: (answer: () => void) => void,
): void {
	const end = () => settled(() => (error ? done(error) : done(null, 'fine')))
	if (takesMs === 0) end()
	else if (takesMs === Infinity) return
	else {
		const cancel = timers.set(takesMs, end)
		if (!listens) return
		const { signal } = context
		signal.addEventListener('abort', () => {
			cancel()
			// Later, as a promise would.
			timers.set(0, () => settled(() => done(signal.reason)))
		})
	}
}

/** A hash of all events: the same run has the same hash. */
export class EventHash {
	hash = 0x811c9dc5

	add(...facts: readonly number[]): void {
		for (const fact of facts) this.hash = Math.imul(this.hash ^ Math.floor(fact * 1_000), 0x01000193)
	}
}
