/**
 * A service with an outage, and its callers. The result is not scripted: the service responds, queues or rejects by its rules, and
 * the callers use real policies in virtual time.
 */
import { HttpError, type Policy } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'

export interface Model {
	readonly clients: number
	/** Every client starts a new call this often, regardless of its earlier calls. */
	readonly callEveryMs: number
	/** The requests that the service can process per second. */
	readonly capacity: number
	/** A request that would wait longer than this in the queue of the service is rejected. */
	readonly maxQueueMs: number
	/** The work of a rejection, as a share of the work of a response. */
	readonly rejectionCost: number
	readonly downFromMs: number
	readonly downToMs: number
	readonly endMs: number
}

/** One second of the run, at the service. */
export interface Second {
	requests: number
	/** Requests rejected because of overload, not because of the outage. */
	rejected: number
}

export interface OutageResult {
	readonly seconds: readonly Second[]
	readonly calls: number
	/** Calls that succeeded before the end. */
	readonly succeeded: number
	/** When the service last rejected a request because of overload. */
	readonly lastRejectionMs: number
}

/** Runs the same callers and the same outage with a policy. The same seed gives the same run. */
export function simulateOutage(
	model: Model,
	createPolicy: (clock: VirtualRuntime) => Policy,
	seed: number,
): OutageResult {
	const clock = virtualRuntime({ seed })
	const policy = createPolicy(clock)
	const service = new Service(model, clock)
	let calls = 0
	let succeeded = 0

	const callRepeatedly = (): void => {
		calls++
		clock.run<void>(
			policy,
			(_, done) => service.request(done),
			(error) => {
				if (!error) succeeded++
			},
		)
		clock.setTimer(model.callEveryMs, callRepeatedly)
	}
	for (let client = 0; client < model.clients; client++) {
		clock.setTimer(clock.random() * model.callEveryMs, callRepeatedly)
	}
	clock.runTimers(model.endMs)
	return { seconds: service.seconds, calls, succeeded, lastRejectionMs: service.lastRejectionMs }
}

// Created once: stack traces for about 100,000 errors would take longer than everything else.
const DOWN = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const OVERLOADED = new HttpError(503)

/** One queue with a constant processing rate. Its only state is when it will have processed all accepted requests. */
class Service {
	readonly seconds: readonly Second[]
	lastRejectionMs = 0
	readonly #model: Model
	readonly #clock: VirtualRuntime
	#busyUntilMs = 0

	constructor(model: Model, clock: VirtualRuntime) {
		this.#model = model
		this.#clock = clock
		this.seconds = Array.from({ length: model.endMs / 1_000 }, () => ({ requests: 0, rejected: 0 }))
	}

	request(done: (error?: unknown) => void): void {
		const { capacity, downFromMs, downToMs, maxQueueMs, rejectionCost } = this.#model
		const nowMs = this.#clock.now()
		const workMs = 1_000 / capacity
		const startMs = Math.max(nowMs, this.#busyUntilMs)
		const isDown = nowMs >= downFromMs && nowMs < downToMs
		const isRejected = !isDown && startMs - nowMs > maxQueueMs
		this.#count(nowMs, isRejected)
		if (isDown) {
			done(DOWN)
		} else if (isRejected) {
			this.#busyUntilMs = startMs + workMs * rejectionCost
			done(OVERLOADED)
		} else {
			this.#busyUntilMs = startMs + workMs
			this.#clock.setTimer(this.#busyUntilMs - nowMs, () => done())
		}
	}

	#count(nowMs: number, isRejected: boolean): void {
		const second = this.seconds[Math.floor(nowMs / 1_000)]
		if (second) second.requests++
		if (!isRejected) return
		if (second) second.rejected++
		this.lastRejectionMs = nowMs
	}
}
