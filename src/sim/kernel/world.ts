/**
 * One run's time and chance. Everything that draws has a stream of its own, named after it and made from the seed: a
 * strategy that draws more often does not shift the draws of anybody else, so strategies meet the same arrivals and the
 * same service times, and their differences are their own. One stream for all was rejected for that reason: there two strategies differ mostly by luck.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { Trace } from './trace.ts'

/** The wall clock at the start of every run. */
const START = Date.UTC(2026, 0, 1)

export class World {
	readonly seed: number | string
	readonly trace: Trace = new Trace()
	/** So many events have happened. */
	events = 0
	/** Requests count towards the limit as well, for a loop of them need not take any time. */
	#requests = 0
	/** What ended the run before its time: a user's function threw. */
	broken: { readonly error: unknown } | undefined
	readonly #maxEvents: number
	readonly #clock = new VirtualClock(START)
	readonly #once = new Map<string, unknown>()

	constructor(seed: number | string, maxEvents: number) {
		this.seed = seed
		this.#maxEvents = maxEvents
	}

	now(): number {
		return this.#clock.now()
	}

	/** A user's function threw: that is the answer, and not one failed call among thousands. */
	break(error: unknown): void {
		this.broken ??= { error }
	}

	/** Has the limit been reached? Then nobody is answered any more, so that what loops without waiting comes to rest. */
	get isExhausted(): boolean {
		return this.events + this.#requests >= this.#maxEvents
	}

	/** A request is about to be sent. Answers whether it may be. */
	countRequest(): boolean {
		this.#requests++
		return !this.isExhausted
	}

	after(ms: number, happen: () => void): void {
		this.#clock.after(ms, happen)
	}

	/** Lets the next event happen, if it comes by `until`. Answers whether one has. */
	step(until: number): boolean {
		if (this.isExhausted || this.broken || !this.#clock.step(until)) return false
		this.events++
		this.trace.add(this.#clock.now())
		return true
	}

	/** Is anything still to come? */
	get hasEvents(): boolean {
		return this.#clock.hasPending
	}

	/** Nothing happens until then. */
	skipTo(time: number): void {
		this.#clock.skipTo(time)
	}

	stream(name: string): () => number {
		return seededRandom(`${this.seed} ${name}`)
	}

	/** What a policy of this name runs on. */
	runtime(name: string): Runtime {
		return new EntityRuntime(this.#clock, () => this.stream(name))
	}

	/** The same thing for all who ask for it under this name. */
	once<T>(name: string, make: () => T): T {
		if (!this.#once.has(name)) this.#once.set(name, make())
		return this.#once.get(name) as T
	}
}

/** Everybody's clock, with a chance of one's own. */
class EntityRuntime implements Runtime {
	readonly #clock: VirtualClock
	readonly #stream: () => () => number
	#draw: (() => number) | undefined

	constructor(clock: VirtualClock, stream: () => () => number) {
		this.#clock = clock
		this.#stream = stream
	}

	now(): number {
		return this.#clock.now()
	}

	wallNow(): number {
		return this.#clock.wallNow()
	}

	setTimer(ms: number, fn: () => void): () => void {
		return this.#clock.setTimer(ms, fn)
	}

	random(): number {
		this.#draw ??= this.#stream()
		return this.#draw()
	}

	/** So that timeouts of equal length share one timer, whoever they belong to. */
	timerSource(): object {
		return this.#clock
	}
}
