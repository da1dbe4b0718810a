import type { BoundLayer, Call } from '../engine/call.ts'
import { GO, type Step } from '../engine/layer.ts'
import { type Emit, LeafPolicy, type ObservableLayer } from '../engine/policy.ts'
import type { Changes } from '../engine/policy-options.ts'
import { RateLimitedError } from '../errors/errors.ts'
import { invalidOption, mergeOptions } from '../options/schema.ts'
import { type RateLimiterOptions, type RateLimiterSettings, readRateLimiterOptions } from './options.ts'
import type { Pacer } from './pacer.ts'
import { SlidingWindow } from './sliding-window.ts'
import { TokenBucket } from './token-bucket.ts'

/** A reserved start of a call. */
export interface Reservation {
	/** How long to wait before the call; 0 if it may start immediately. */
	readonly delayMs: number
	/** Cancels the reservation, if the call is not made. */
	cancel(): void
}

/** The state of a rate limiter. */
export interface RateLimiterStats {
	/** The number of calls that may start now. */
	readonly available: number
	/** When the next call may start, in milliseconds from now. */
	readonly retryAfterMs: number
}

/**
 * A policy that limits how many calls start per interval. Calls above the limit wait, up to `maxWaitMs`, or are rejected
 * with a RateLimitedError that has `retryAfterMs`.
 *
 * @example
 * const policy = new RateLimiter({ limit: 100, intervalMs: 60_000, maxWaitMs: 5_000 })
 */
export class RateLimiter extends LeafPolicy {
	readonly #layer: RateLimiterLayer
	#options: RateLimiterOptions

	constructor(options: RateLimiterOptions = {}) {
		const layer = new RateLimiterLayer(readRateLimiterOptions(options))
		super('rateLimiter', options, layer)
		layer.name = this.name
		this.#layer = layer
		this.#options = options
	}

	get stats(): RateLimiterStats {
		const now = this.env.runtime.now()
		const { pacer } = this.#layer
		return { available: pacer.available(now), retryAfterMs: Math.ceil(pacer.next(now) - now) }
	}

	/**
	 * Reserves the next start for a call that you make without this policy, however long the wait is.
	 *
	 * @example
	 * const { delayMs } = limiter.reserve()
	 * setTimeout(send, delayMs)
	 */
	reserve(): Reservation {
		const { runtime } = this.env
		const { pacer } = this.#layer
		const now = runtime.now()
		const at = pacer.reserve(now)
		let isReserved = true
		return {
			delayMs: at - now,
			cancel() {
				if (isReserved) pacer.cancel(at, runtime.now())
				isReserved = false
			},
		}
	}

	/** Changes the given options. Reservations stay; the algorithm cannot change, because it would lose them. */
	update(options: Omit<Changes<RateLimiterOptions>, 'algorithm'>): void {
		if ('algorithm' in options)
			invalidOption('algorithm', options.algorithm, 'no value, because it cannot be changed after creation')
		const next = mergeOptions(this.#options, options)
		const settings = readRateLimiterOptions(next)
		this.#options = next
		const { limit, intervalMs, burst } = settings
		this.#layer.settings = settings
		this.#layer.pacer.update(limit, intervalMs, burst, this.env.runtime.now())
	}
}

export class RateLimiterLayer implements ObservableLayer {
	settings: RateLimiterSettings
	readonly pacer: Pacer
	name = ''
	emit: Emit | undefined

	constructor(settings: RateLimiterSettings) {
		const { algorithm, limit, intervalMs, burst } = settings
		this.settings = settings
		this.pacer =
			algorithm === 'token-bucket'
				? new TokenBucket(limit, intervalMs, burst)
				: new SlidingWindow(limit, intervalMs)
	}

	enter(call: Call, bound: BoundLayer): Step {
		const { pacer, settings } = this
		const now = call.now(bound.runtime)
		const waitMs = pacer.next(now) - now
		// Do not wait for a start after the deadline.
		if (
			waitMs > settings.maxWaitMs ||
			(waitMs > 0 && waitMs >= (call.options?.deadline?.remainingMs ?? Infinity))
		) {
			const retryAfterMs = Math.ceil(waitMs)
			this.emit?.(call, bound, { type: 'rejected', reason: 'rate-limited', retryAfterMs })
			return call.reject(new RateLimitedError(this.name, retryAfterMs))
		}
		const at = pacer.reserve(now)
		if (waitMs <= 0) return GO
		call.enterLayer(bound, at)
		return waitMs
	}

	resume(call: Call, bound: BoundLayer): Step {
		call.startedAt = call.pipeline.runtime.now()
		return call.enterLayer(bound)
	}

	/** A call that was interrupted while it waited cancels its reservation. */
	leave(call: Call, bound: BoundLayer): Step {
		const at = call.layerState(bound)
		if (typeof at === 'number') this.pacer.cancel(at, bound.runtime.now())
		return GO
	}
}

/**
 * Creates a rate limiter: `new RateLimiter(options)`.
 *
 * @example
 * const api = pipeline(rateLimiter({ limit: 100, intervalMs: 60_000, maxWaitMs: 5_000 }), retry(presets.externalApi))
 */
export function rateLimiter(options?: RateLimiterOptions): RateLimiter {
	return new RateLimiter(options)
}
