/**
 * Virtual time and randomness of one run. Every component draws from its own random stream, derived from the
 * seed and the component's name. A policy that draws more often therefore does not shift the draws of
 * anything else: compared policies meet the same arrivals and service times. A single shared stream was
 * rejected because two policies would then differ mostly by luck.
 */
import { YaokiError } from '../../core/errors/errors.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'

const START = Date.UTC(2026, 0, 1)

/**
 * Limits within one event: clock reads and requests, plus an allowance for each call in flight. More than
 * that is a loop that takes no virtual time. The limit on requests is far below `maxEvents` because each
 * request stays in memory with its call.
 */
const MAX_CLOCK_READS = 50_000
const MAX_REQUESTS = 1_000_000
const ALLOWANCE_PER_CALL = 100

/** A number times this is the next smaller number. */
const JUST_BELOW = 1 - Number.EPSILON / 2

export class EventLoop {
	readonly seed: number | string
	readonly trace: Trace = new Trace()
	events = 0
	/** Requests count towards `maxEvents` too: a loop of requests need not take any virtual time. */
	#requests = 0
	/** Set when a function of the user's threw, which ends the run. */
	failure: { readonly error: unknown } | undefined
	readonly #maxEvents: number
	/** Clock reads by policies since the last event or request. */
	#clockReads = 0
	/** Requests sent since the last event. */
	#sent = 0
	callsInFlight = 0
	readonly #clock = new VirtualClock(START)
	readonly #shared = new Map<string, unknown>()

	constructor(seed: number | string, maxEvents: number) {
		this.seed = seed
		this.#maxEvents = maxEvents
	}

	now(): number {
		return this.#clock.now()
	}

	/** Ends the run with an error thrown by user code, which must not pass as one failed call among thousands. */
	fail(error: unknown): void {
		this.failure ??= { error }
	}

	/** True once `maxEvents` is reached. From then on no request is delivered, so that loops come to rest. */
	get isExhausted(): boolean {
		return this.events + this.#requests >= this.#maxEvents
	}

	/** Counts a request that is about to be sent. Returns false if it must not be sent. */
	countRequest(): boolean {
		this.#requests++
		this.#clockReads = 0
		if (++this.#sent > MAX_REQUESTS + ALLOWANCE_PER_CALL * this.callsInFlight)
			this.#requests = this.#maxEvents
		return !this.isExhausted
	}

	after(ms: number, callback: () => void): void {
		this.#clock.after(ms, callback)
	}

	/** Processes the events before a time. An event at exactly that time belongs to the next slice. */
	run(before: number): void {
		// A timer set for Infinity never fires.
		const last = before === Infinity ? Number.MAX_VALUE : before * JUST_BELOW
		while (!this.isExhausted && !this.failure && this.#clock.step(last)) {
			this.events++
			this.#clockReads = 0
			this.#sent = 0
			this.trace.add(this.#clock.now())
		}
	}

	/** Returns the time to a policy, and detects policies that loop without a delay or a request. */
	readClock(): number {
		if (++this.#clockReads > MAX_CLOCK_READS) this.#endLoop()
		return this.#clock.now()
	}

	#endLoop(): void {
		// All calls in flight may have timed out in this one event.
		const limit = MAX_CLOCK_READS + ALLOWANCE_PER_CALL * this.callsInFlight
		if (this.#clockReads < limit && !this.isExhausted) return
		// Other policies in the same loop are stopped sooner.
		this.#clockReads = MAX_CLOCK_READS - ALLOWANCE_PER_CALL
		this.#requests = this.#maxEvents
		throw new YaokiError('YAOKI_EVENT_LIMIT', 'policy loops forever without a delay or a request')
	}

	get hasEvents(): boolean {
		return this.#clock.hasPending
	}

	skipTo(time: number): void {
		this.#clock.skipTo(time)
	}

	stream(name: string): () => number {
		return seededRandom(`${this.seed} ${name}`)
	}

	/** Returns a runtime for policies: this loop's time, and the random stream of this name. */
	runtime(name: string): Runtime {
		return new StreamRuntime(this, this.#clock, () => this.stream(name))
	}

	/** Returns the value made for this name in this run, making it on first use. */
	once<T>(name: string, make: () => T): T {
		if (!this.#shared.has(name)) this.#shared.set(name, make())
		return this.#shared.get(name) as T
	}
}

class StreamRuntime implements Runtime {
	readonly #loop: EventLoop
	readonly #clock: VirtualClock
	readonly #stream: () => () => number
	/** Created on the first draw: many policies never draw. */
	#draw: (() => number) | undefined

	constructor(loop: EventLoop, clock: VirtualClock, stream: () => () => number) {
		this.#loop = loop
		this.#clock = clock
		this.#stream = stream
	}

	now(): number {
		return this.#loop.readClock()
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

	/** One source for the whole run, so that timeouts of equal length share one timer across policies. */
	timerSource(): object {
		return this.#clock
	}
}

/**
 * A fingerprint of everything that happened, in order. Two runs that differ in one event, by one bit of its
 * time, have different fingerprints. Not a cryptographic hash: it only distinguishes runs.
 */
export class Trace {
	#high = 0x243f6a88
	#low = 0x85a308d3 | 0
	readonly #number = new Float64Array(1)
	readonly #words = new Uint32Array(this.#number.buffer)

	add(value: number): void {
		this.#number[0] = value
		const words = this.#words
		const high = Math.imul(this.#high ^ (words[0] ?? 0), 0x9e3779b1)
		const low = Math.imul(this.#low ^ (words[1] ?? 0) ^ (high >>> 15), 0x85ebca6b)
		this.#high = high ^ (low >>> 13)
		this.#low = low ^ (high >>> 16)
	}

	get hash(): string {
		return hex(this.#high) + hex(this.#low)
	}
}

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, '0')
