import type { BoundLayer, Call } from '../engine/call.ts'
import { LeafPolicy } from '../engine/policy.ts'
import type { Changes } from '../engine/policy-options.ts'
import { mergeOptions } from '../options/schema.ts'
import type { BulkheadStats } from './bulkhead.ts'
import { BulkheadLayer, DEFAULT_NAME } from './layer.ts'
import { AdaptiveLimit } from './limits.ts'
import { type AdaptiveBulkheadOptions, readAdaptiveBulkheadOptions } from './options.ts'

/**
 * The maximum length of a latency measurement, in multiples of a call's duration. It usually takes two or
 * three; but if a few calls take twenty times as long as the others, half of this value was seen to end one
 * in five measurements too early and to leave the server underused.
 */
const MEASUREMENT_CALLS = 10

/**
 * A bulkhead that finds its own limit: it raises the limit while latency stays low, and lowers it when calls
 * become slow or fail. `adaptiveBulkhead()` creates it.
 *
 * @example
 * const policy = adaptiveBulkhead({ minConcurrent: 5, maxConcurrent: 100 })
 * policy.stats.maxConcurrent // the limit as measured so far
 */
export class AdaptiveBulkhead extends LeafPolicy {
	/** @internal */
	declare protected readonly layer: BulkheadLayer
	readonly #limit: AdaptiveLimit
	#cancel: (() => void) | undefined

	constructor(options: AdaptiveBulkheadOptions = {}) {
		const settings = readAdaptiveBulkheadOptions(options)
		// Once it runs, bounds that exclude the initial limit are valid.
		const changeable: AdaptiveBulkheadOptions = { ...options, initialConcurrent: undefined }
		super(DEFAULT_NAME, changeable, new BulkheadLayer(settings, settings.initialConcurrent))
		this.layer.onRelease = (...facts) => this.#learn(...facts)
		this.#limit = new AdaptiveLimit(settings)
	}

	/** @internal */
	override get isExclusive(): boolean {
		return true
	}

	/** `maxConcurrent` is the current limit. */
	get stats(): BulkheadStats {
		const { slots, settings } = this.layer
		const { concurrent, queued } = slots
		return { concurrent, queued, maxConcurrent: this.#limit.found, maxQueue: settings.maxQueue }
	}

	/** Changes the bounds. The measured limit stays. */
	update(options: Changes<AdaptiveBulkheadOptions>): void {
		const next = mergeOptions(this.options, options)
		const settings = readAdaptiveBulkheadOptions(next)
		this.options = next
		this.layer.settings = settings
		this.#limit.update(settings)
		this.layer.resize(this.#limit.limit)
	}

	#learn(call: Call, bound: BoundLayer, latencyMs: number): void {
		const kind = call.ok ? undefined : call.classify(bound).kind
		if (kind === 'cancelled') return
		const isDropped = kind !== undefined && kind !== 'permanent'
		const { layer } = this
		const limit = this.#limit
		const from = limit.found
		const allowed = limit.sample(latencyMs, isDropped, layer.slots.concurrent)
		const to = limit.found
		if (allowed !== layer.limit) {
			layer.resize(allowed)
			this.#cancel?.()
			// Hung calls may exceed the lowered limit during a latency measurement, and then no call would end the
			// measurement.
			this.#cancel =
				allowed < to
					? bound.runtime.setTimer(MEASUREMENT_CALLS * layer.holdMs, () => this.update({}), 'housekeeping')
					: undefined
		}
		if (from !== to) layer.emit?.(call, bound, { type: 'limit_change', from, to })
	}
}

/**
 * Creates a bulkhead that finds its own limit from the latency of the calls.
 *
 * @example
 * const search = pipeline(adaptiveBulkhead({ maxConcurrent: 100 }), timeout(2_000))
 */
export function adaptiveBulkhead(options?: AdaptiveBulkheadOptions): AdaptiveBulkhead {
	return new AdaptiveBulkhead(options)
}
