/**
 * A service that is down for a while, and the callers who wait for it. Nothing about the result is written down here: the
 * service answers, queues or refuses by its rules, and the callers go through real policies, in virtual time.
 */
import { HttpError, type Policy } from 'yaoki'
import { type DoneCallback, type VirtualRuntime, virtualRuntime } from 'yaoki/testing'

export interface Model {
	readonly clients: number
	/** Every client starts a new call this often, whatever has become of its earlier ones. */
	readonly callEveryMs: number
	/** How many calls the service can answer in a second. */
	readonly capacity: number
	/** A call that would have to wait longer than this in the service's queue is refused. */
	readonly longestQueueMs: number
	/** Saying no is not free: the share of an answer's work that a refusal takes. */
	readonly refusalCost: number
	readonly downFromMs: number
	readonly upAgainMs: number
	readonly endMs: number
}

/** One second of the run, as the service saw it. */
export interface Second {
	/** Everything that was sent to it. */
	calls: number
	/** Refused although it was up, because it had too much to do. */
	refused: number
}

export interface Outcome {
	readonly seconds: readonly Second[]
	/** Calls that users made, and those of them that were answered before the end. */
	readonly wanted: number
	readonly answered: number
	/** When the service last refused a call for want of capacity. */
	readonly lastRefusalMs: number
}

/** The same users and the same outage for every policy; the same seed gives the same run. */
export function meetOutage(
	model: Model,
	makePolicy: (clock: VirtualRuntime) => Policy,
	seed: number,
): Outcome {
	const clock = virtualRuntime({ seed })
	const policy = makePolicy(clock)
	const service = new Service(model, clock)
	let wanted = 0
	let answered = 0

	const callAndGoOn = (): void => {
		wanted++
		clock.run<void>(
			policy,
			(_, done) => service.call(done),
			(error) => {
				if (!error) answered++
			},
		)
		clock.setTimer(model.callEveryMs, callAndGoOn)
	}
	for (let client = 0; client < model.clients; client++) {
		clock.setTimer(clock.random() * model.callEveryMs, callAndGoOn)
	}
	clock.runTimers(model.endMs)
	return { seconds: service.seconds, wanted, answered, lastRefusalMs: service.lastRefusalMs }
}

// Made once: a stack trace for each of some 100,000 failures would take longer than all the rest.
const DOWN = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const OVERLOADED = new HttpError(503)

/** One queue, worked off at a steady pace. All it needs to know is by when it will have done what it has accepted. */
class Service {
	readonly seconds: readonly Second[]
	lastRefusalMs = 0
	readonly #model: Model
	readonly #clock: VirtualRuntime
	#busyUntilMs = 0

	constructor(model: Model, clock: VirtualRuntime) {
		this.#model = model
		this.#clock = clock
		this.seconds = Array.from({ length: model.endMs / 1_000 }, () => ({ calls: 0, refused: 0 }))
	}

	call(done: DoneCallback<void>): void {
		const { capacity, downFromMs, upAgainMs, longestQueueMs, refusalCost } = this.#model
		const nowMs = this.#clock.now()
		const workMs = 1_000 / capacity
		const startMs = Math.max(nowMs, this.#busyUntilMs)
		const isDown = nowMs >= downFromMs && nowMs < upAgainMs
		const isRefused = !isDown && startMs - nowMs > longestQueueMs
		this.#count(nowMs, isRefused)
		if (isDown) {
			done(DOWN)
		} else if (isRefused) {
			this.#busyUntilMs = startMs + workMs * refusalCost
			done(OVERLOADED)
		} else {
			this.#busyUntilMs = startMs + workMs
			this.#clock.setTimer(this.#busyUntilMs - nowMs, () => done())
		}
	}

	#count(nowMs: number, isRefused: boolean): void {
		const second = this.seconds[Math.floor(nowMs / 1_000)]
		if (second) second.calls++
		if (!isRefused) return
		if (second) second.refused++
		this.lastRefusalMs = nowMs
	}
}
