import type { Call, Seat } from '../engine/call.ts'
import { LeafPolicy } from '../engine/leaf-policy.ts'
import { changed } from '../options/rules.ts'
import { type AdaptiveBulkheadOptions, readAdaptiveBulkheadOptions } from './adaptive-options.ts'
import type { BulkheadStats } from './bulkhead.ts'
import { BulkheadLayer } from './layer.ts'
import { AdaptiveLimit } from './limits.ts'

/**
 * A bulkhead that finds out by itself how many calls the other side can bear at once: it raises its limit while answers stay
 * quick and lowers it when they slow down or fail.
 *
 * @example
 * const policy = new AdaptiveBulkhead({ minConcurrent: 5, maxConcurrent: 100 })
 * policy.stats.maxConcurrent // the limit as measured so far
 */
export class AdaptiveBulkhead extends LeafPolicy {
	readonly #layer: BulkheadLayer
	readonly #limit: AdaptiveLimit
	#options: AdaptiveBulkheadOptions

	constructor(options: AdaptiveBulkheadOptions = {}) {
		const settings = readAdaptiveBulkheadOptions(options)
		const layer = new BulkheadLayer(settings, settings.initialConcurrent)
		super('bulkhead', options, layer)
		layer.name = this.name
		this.#layer = layer
		layer.learn = (...facts) => this.#learn(...facts)
		this.#limit = new AdaptiveLimit(settings)
		this.#options = options
	}

	/** `maxConcurrent` is the limit as measured so far. */
	get stats(): BulkheadStats {
		const { slots, settings, limit } = this.#layer
		const { concurrent, queued } = slots
		return { concurrent, queued, maxConcurrent: limit, maxQueue: settings.maxQueue }
	}

	/** Other bounds from now on. What was measured stays. */
	update(options: AdaptiveBulkheadOptions): void {
		const next = changed(this.#options, options)
		const settings = readAdaptiveBulkheadOptions(next)
		this.#options = next
		this.#layer.settings = settings
		this.#limit.update(settings)
		this.#layer.resize(this.#limit.limit)
	}

	#learn(call: Call, seat: Seat, latencyMs: number): void {
		const kind = call.ok ? undefined : call.judge(seat).kind
		if (kind === 'cancelled') return
		const isDropped = kind !== undefined && kind !== 'permanent'
		const from = this.#layer.limit
		const to = this.#limit.sample(latencyMs, isDropped, this.#layer.slots.concurrent)
		if (from === to) return
		this.#layer.resize(to)
		this.#layer.tell?.(call, seat, { type: 'limit_change', from, to })
	}
}

/**
 * A bulkhead that tunes itself: `new AdaptiveBulkhead(options)`.
 *
 * @example
 * const search = pipeline(adaptiveBulkhead({ maxConcurrent: 100 }), timeout(2_000))
 */
export function adaptiveBulkhead(options?: AdaptiveBulkheadOptions): AdaptiveBulkhead {
	return new AdaptiveBulkhead(options)
}
