/** A dependency with good days and bad hours, drawn from a seed: how long each attempt takes and what comes of it. */
import { HttpError } from 'yaoki'
import type { CallbackOperation, VirtualRuntime } from 'yaoki/testing'

type Regime = 'fair' | 'down' | 'flaky' | 'slow' | 'hung' | 'throttling'
const OUTAGES: readonly Regime[] = ['down', 'flaky', 'slow', 'hung', 'throttling']

/** What one attempt will come to. */
export interface Fate {
	/** Infinity: it never settles. */
	readonly takesMs: number
	readonly error: unknown
	/** Does it end when its signal says so? */
	readonly listens: boolean
}

export interface WeatherOptions {
	readonly random: () => number
	readonly lastsMs: number
	/** How long it is fair between two outages, on the average. */
	readonly fairMs: number
	/** The share of hung work that never settles. The other settles minutes later. */
	readonly neverShare: number
}

export class Weather {
	readonly #options: WeatherOptions
	#regime: Regime = 'fair'
	#until = 0

	constructor(options: WeatherOptions) {
		this.#options = options
		this.#until = options.fairMs * options.random()
	}

	/** Must be asked in the order of time. Some work answers before it returns, where that is wanted. */
	fate(now: number, mayBeAtOnce: boolean): Fate {
		const { random } = this.#options
		const regime = this.#at(now)
		const chance = random()
		const usualMs = 5 - 40 * Math.log(1 - random())
		if (chance < 0.001) return { takesMs: usualMs, error: new HttpError(400), listens: false }
		switch (regime) {
			case 'down':
				return { takesMs: mayBeAtOnce && chance < 0.5 ? 0 : usualMs, error: reset(), listens: false }
			case 'flaky':
				return { takesMs: usualMs, error: chance < 0.4 ? reset() : undefined, listens: false }
			case 'slow':
				return { takesMs: usualMs * 30, error: undefined, listens: chance < 0.3 }
			case 'hung':
				return this.#hung(chance, usualMs)
			case 'throttling': {
				const retryAfterMs = Math.floor(500 * random())
				const error = chance < 0.7 ? new HttpError(429, undefined, { retryAfterMs }) : undefined
				return { takesMs: usualMs / 4, error, listens: false }
			}
			default:
				return {
					takesMs: mayBeAtOnce && chance < 0.05 ? 0 : usualMs,
					error: chance > 0.995 ? reset() : undefined,
					listens: chance > 0.9,
				}
		}
	}

	#hung(chance: number, usualMs: number): Fate {
		const { random, neverShare } = this.#options
		if (chance > 0.6) return { takesMs: usualMs, error: undefined, listens: false }
		const takesMs = random() < neverShare ? Infinity : 1_000 + 200_000 * random()
		return { takesMs, error: chance < 0.3 ? reset() : undefined, listens: false }
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

/** Timers of the soak's own, counted, so that what else is pending is known to be the policies'. */
export class OwnTimers {
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

/** Lets an attempt have its fate. `settled` is told before the policies are. */
export function suffer(
	{ takesMs, error, listens }: Fate,
	context: Parameters<CallbackOperation<string>>[0],
	timers: OwnTimers,
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
			// As a promise would: a moment later.
			timers.set(0, () => settled(() => done(signal.reason)))
		})
	}
}

/** What happened, as one number: the same run gives the same one. */
export class Trail {
	hash = 0x811c9dc5

	add(...facts: readonly number[]): void {
		for (const fact of facts) this.hash = Math.imul(this.hash ^ Math.floor(fact * 1_000), 0x01000193)
	}
}
