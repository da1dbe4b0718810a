/**
 * One run's time and chance. Everything that draws has a stream of its own, named after it and made from the seed: a
 * strategy that draws more often does not shift the draws of anybody else, so strategies meet the same arrivals and the
 * same service times, and their differences are their own. One stream for all was rejected for that reason: there two strategies differ mostly by luck.
 */
import { YaokiError } from '../../core/errors/errors.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { Trace } from './trace.ts'

/** The wall clock at the start of every run. */
const START = Date.UTC(2026, 0, 1)

/**
 * What may happen within one event, beside so much for each call that is under way. More is a loop that takes no time: of policies
 * that look at the clock and send nothing, or of requests, each of which its call remembers, so that there is no room for as many
 * as there may be in a run.
 */
const LOOKS = 50_000
const SENT = 1_000_000
const A_CALL = 100

/** Times the number, this is the next number below it. */
const JUST_BELOW = 1 - Number.EPSILON / 2

export class EventLoop {
	readonly seed: number | string
	readonly trace: Trace = new Trace()
	/** So many events have happened. */
	events = 0
	/** Requests count towards the limit as well, for a loop of them need not take any time. */
	#requests = 0
	/** What ended the run before its time: a user's function threw. */
	broken: { readonly error: unknown } | undefined
	readonly #maxEvents: number
	/** How often policies have looked at the clock since the latest event or request. */
	#looks = 0
	/** How many requests were sent since the latest event. */
	#sent = 0
	/** Calls that have begun and not ended. */
	openCalls = 0
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
		this.#looks = 0
		if (++this.#sent > SENT + A_CALL * this.openCalls) this.#requests = this.#maxEvents
		return !this.isExhausted
	}

	after(ms: number, happen: () => void): void {
		this.#clock.after(ms, happen)
	}

	/** Lets all happen that comes before a time, and nothing of what comes just then: a second has one beginning and not two. */
	run(before: number): void {
		// A time without end is none that comes.
		const last = before === Infinity ? Number.MAX_VALUE : before * JUST_BELOW
		while (!this.isExhausted && !this.broken && this.#clock.step(last)) {
			this.events++
			this.#looks = 0
			this.#sent = 0
			this.trace.add(this.#clock.now())
		}
	}

	/** A policy looks at the clock. One that does so for ever is in a loop that takes no time and sends nothing. */
	look(): number {
		if (++this.#looks > LOOKS) this.#endLoop()
		return this.#clock.now()
	}

	#endLoop(): void {
		// All of them may have been timed out at once, which is one event.
		if (this.#looks < LOOKS + A_CALL * this.openCalls && !this.isExhausted) return
		// Whoever else is in such a loop need not go as far.
		this.#looks = LOOKS - A_CALL
		this.#requests = this.#maxEvents
		throw new YaokiError('YAOKI_EVENT_LIMIT', 'a policy goes round and round without a wait or a request')
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
		return new EntityRuntime(this, this.#clock, () => this.stream(name))
	}

	/** The same thing for all who ask for it under this name. */
	once<T>(name: string, make: () => T): T {
		if (!this.#once.has(name)) this.#once.set(name, make())
		return this.#once.get(name) as T
	}
}

/** Everybody's clock, with a chance of one's own. */
class EntityRuntime implements Runtime {
	readonly #world: EventLoop
	readonly #clock: VirtualClock
	readonly #stream: () => () => number
	#draw: (() => number) | undefined

	constructor(world: EventLoop, clock: VirtualClock, stream: () => () => number) {
		this.#world = world
		this.#clock = clock
		this.#stream = stream
	}

	now(): number {
		return this.#world.look()
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
