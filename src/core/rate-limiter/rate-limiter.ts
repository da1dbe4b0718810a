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

/** A place that was booked ahead of a call. */
export interface Reservation {
	/** How long to wait before the call; 0 when it may be made at once. */
	readonly delayMs: number
	/** Gives the place back when the call will not be made after all. */
	cancel(): void
}

/** What a rate limiter has to give. */
export interface RateLimiterStats {
	/** How many calls could start at once now. */
	readonly available: number
	/** When the next call could start. */
	readonly retryAfterMs: number
}

/**
 * Lets so many calls start in a stretch of time and no more: the others wait for their turn, up to `maxWaitMs`, or are refused
 * with a RateLimitedError that says when to come back.
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
	 * Books the next place for a call that is made some other way, however long the wait for it is.
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
		let isBooked = true
		return {
			delayMs: at - now,
			cancel() {
				if (isBooked) pacer.cancel(at, runtime.now())
				isBooked = false
			},
		}
	}

	/** Another rate from now on. What is booked stays; another algorithm would have to forget it, and is refused. */
	update(options: Omit<Changes<RateLimiterOptions>, 'algorithm'>): void {
		if ('algorithm' in options)
			invalidOption('algorithm', options.algorithm, 'nothing here, for it can not be changed')
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
		// Nobody waits for what will come too late.
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

	/** Who did not wait to the end gives the place back. */
	leave(call: Call, bound: BoundLayer): Step {
		const at = call.layerState(bound)
		if (typeof at === 'number') this.pacer.cancel(at, bound.runtime.now())
		return GO
	}
}

/**
 * A rate limiter: `new RateLimiter(options)`.
 *
 * @example
 * const api = pipeline(rateLimiter({ limit: 100, intervalMs: 60_000, maxWaitMs: 5_000 }), retry(presets.externalApi))
 */
export function rateLimiter(options?: RateLimiterOptions): RateLimiter {
	return new RateLimiter(options)
}
