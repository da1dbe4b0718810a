import type { BoundLayer, Call } from '../engine/call.ts'
import type { Step } from '../engine/layer.ts'
import type { Emit, ObservableLayer } from '../engine/policy.ts'
import { RateLimitedError } from '../errors/errors.ts'
import type { CancelTimer, Runtime } from '../runtime/runtime.ts'
import type { Link } from '../structures/linked-list.ts'
import type { RateLimiterSettings } from './options.ts'
import { SlidingWindow } from './sliding-window.ts'
import { StartQueue } from './start-queue.ts'
import { TokenBucket } from './token-bucket.ts'

export const DEFAULT_NAME = 'rateLimiter'

export class RateLimiterLayer implements ObservableLayer {
	/** Undefined for a call that does not wait. */
	declare readonly callState: WaitingCall | undefined
	settings: RateLimiterSettings
	readonly queue: StartQueue<WaitingCall>
	readonly name: string
	emit: Emit | undefined
	/** The timer of the first waiting call, its start, and the `setTimer` that has it. */
	#cancelTimer: CancelTimer | undefined
	#timerStart: number | undefined
	#timerSource: object | undefined

	constructor(settings: RateLimiterSettings) {
		const { algorithm, limit, intervalMs, burst } = settings
		this.settings = settings
		this.name = settings.name ?? DEFAULT_NAME
		this.queue = new StartQueue(
			algorithm === 'token-bucket'
				? new TokenBucket(limit, intervalMs, burst)
				: new SlidingWindow(limit, intervalMs),
		)
	}

	enter(call: Call, bound: BoundLayer<RateLimiterLayer>): Step {
		const { queue, settings } = this
		const now = call.now(bound.runtime)
		const waitMs = queue.next(now) - now
		// Do not wait for a start after the deadline.
		if (
			waitMs > settings.maxWaitMs ||
			(waitMs > 0 && waitMs >= (call.options?.deadline?.remainingMs ?? Infinity))
		) {
			const retryAfterMs = Math.ceil(waitMs)
			this.emit?.(call, bound, { type: 'rejected', reason: 'rate-limited', retryAfterMs })
			return call.reject(new RateLimitedError(this.name, retryAfterMs, call.pipeline.name))
		}
		// If the timer is late, calls wait whose start has come: they are first.
		if (waitMs <= 0 && queue.firstStart === undefined) {
			queue.reserve(now)
			return 'continue'
		}
		const waiting = new WaitingCall(call, now)
		queue.wait(waiting, now)
		call.enterLayer(bound, waiting)
		this.#setTimer(bound.runtime)
		return 'park'
	}

	resume(call: Call, bound: BoundLayer<RateLimiterLayer>): Step {
		const waiting = call.layerState(bound)
		if (waiting) {
			if (waiting.start === undefined) {
				// Its start has not come: the deadline has expired, on a clock of its own.
				call.options?.deadline?.throwIfExpired()
				return 'park'
			}
			call.queuedMs = (call.queuedMs ?? 0) + bound.runtime.now() - waiting.since
		}
		call.startedAt = call.pipeline.runtime.now()
		return call.enterLayer(bound)
	}

	/** A call that was interrupted before its start leaves the start to the next one. */
	leave(call: Call, bound: BoundLayer<RateLimiterLayer>): Step {
		const waiting = call.layerState(bound)
		if (!waiting) return 'continue'
		call.enterLayer(bound)
		const { start } = waiting
		// A call that leaves after its start was woken but did not run. Timers are late, but the next call may
		// have this start.
		if (start === undefined) this.queue.leave(waiting, bound.runtime.now())
		else this.queue.cancel(start, start)
		this.#setTimer(bound.runtime)
		return 'continue'
	}

	/** Cancels an unused start; a waiting call may get it. */
	cancel(start: number, runtime: Runtime): void {
		this.queue.cancel(start, runtime.now())
		this.#setTimer(runtime)
	}

	#setTimer(runtime: Runtime): void {
		const { firstStart } = this.queue
		const source = runtime.timerSource?.() ?? runtime
		// A timer that was set under fake timers must not block later calls under real ones.
		if (firstStart === this.#timerStart && source === this.#timerSource) return
		this.#cancelTimer?.()
		this.#timerStart = firstStart
		this.#timerSource = source
		this.#cancelTimer =
			firstStart === undefined
				? undefined
				: runtime.setTimer(Math.max(0, firstStart - runtime.now()), () => this.#start(firstStart, runtime))
	}

	/** Wakes the calls that are due. Trusts the timer: fake timers may not move the clock. */
	#start(timerStart: number, runtime: Runtime): void {
		this.#timerStart = this.#cancelTimer = undefined
		const { queue } = this
		const now = Math.max(timerStart, runtime.now())
		for (let start = queue.firstStart, next = queue.takeDue(now); next; ) {
			next.start = start
			next.call.wake?.()
			start = queue.firstStart
			next = queue.takeDue(now)
		}
		this.#setTimer(runtime)
	}
}

/** A call that waits for its start. */
class WaitingCall implements Link<WaitingCall> {
	previous: WaitingCall | undefined
	following: WaitingCall | undefined
	readonly call: Call
	readonly since: number
	/** Set when the start has come. */
	start: number | undefined

	constructor(call: Call, since: number) {
		this.call = call
		this.since = since
	}
}
