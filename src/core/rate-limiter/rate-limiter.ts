import { LeafPolicy } from '../engine/policy.ts'
import type { Changes } from '../engine/policy-options.ts'
import { invalidOption, mergeOptions } from '../options/schema.ts'
import { DEFAULT_NAME, RateLimiterLayer } from './layer.ts'
import { type RateLimiterOptions, readRateLimiterOptions } from './options.ts'

/** A reserved start of a call. */
export interface Reservation {
	/** How long to wait before the call; 0 if it may start immediately. */
	readonly delayMs: number
	/** Cancels the reservation, if the call is not made. */
	cancel(): void
}

/** How many calls may start now, and when the next one may. Read it from `stats` of a `RateLimiter`. */
export interface RateLimiterStats {
	/** The number of calls that may start now. */
	readonly available: number
	/** When the next call may start, in milliseconds from now. */
	readonly retryAfterMs: number
}

/**
 * A policy that limits how many calls start per interval. `rateLimiter()` creates it. Calls above the limit
 * wait, up to `maxWaitMs`, or are rejected with a `RateLimitedError` that has `retryAfterMs`.
 */
export class RateLimiter extends LeafPolicy {
	/** @internal */
	declare protected readonly layer: RateLimiterLayer

	constructor(options: RateLimiterOptions = {}) {
		super(DEFAULT_NAME, options, new RateLimiterLayer(readRateLimiterOptions(options)))
	}

	get stats(): RateLimiterStats {
		const now = this.env.runtime.now()
		const { queue } = this.layer
		return { available: queue.available(now), retryAfterMs: Math.ceil(queue.next(now) - now) }
	}

	/**
	 * Reserves the next start for a call that you make without this policy, however long the wait is. Its time
	 * is fixed: it does not move up when earlier calls leave.
	 *
	 * @example
	 * const { delayMs } = limiter.reserve()
	 * setTimeout(send, delayMs)
	 */
	reserve(): Reservation {
		const { runtime } = this.env
		const { layer } = this
		const now = runtime.now()
		const at = layer.queue.reserve(now)
		let isReserved = true
		return {
			delayMs: at - now,
			cancel() {
				if (isReserved) layer.cancel(at, runtime)
				isReserved = false
			},
		}
	}

	/**
	 * Changes the given options. Reservations stay; the algorithm cannot change, because it would lose them.
	 */
	update(options: Omit<Changes<RateLimiterOptions>, 'algorithm'>): void {
		if ('algorithm' in options)
			invalidOption('algorithm', options.algorithm, 'no value: it cannot be changed after creation')
		const next = mergeOptions(this.options, options)
		const settings = readRateLimiterOptions(next)
		const { limit, intervalMs, burst } = settings
		this.options = next
		this.layer.settings = settings
		this.layer.queue.pacer.update(limit, intervalMs, burst, this.env.runtime.now())
	}
}

/**
 * Creates a policy that limits how many calls start per interval; further calls wait up to `maxWaitMs` or are
 * rejected. Put it inside a retry, so that every attempt counts.
 *
 * @example
 * const limiter = rateLimiter({ limit: 100, intervalMs: 60_000, maxWaitMs: 5_000 })
 * const api = pipeline(retry(presets.externalApi), limiter)
 */
export function rateLimiter(options?: RateLimiterOptions): RateLimiter {
	return new RateLimiter(options)
}
