import { LeafPolicy } from '../engine/policy.ts'
import type { Changes } from '../engine/policy-options.ts'
import { mergeOptions } from '../options/schema.ts'
import { BulkheadLayer } from './layer.ts'
import { type BulkheadOptions, readBulkheadOptions } from './options.ts'

/** How full a bulkhead is. */
export interface BulkheadStats {
	/** How many calls hold a slot. */
	readonly concurrent: number
	/** How many wait for one. */
	readonly queued: number
	/** How many may run at once. */
	readonly maxConcurrent: number
	readonly maxQueue: number
}

/**
 * Lets so many calls run at once and no more, so that one slow dependency can not take the whole process with it. A free slot goes
 * to the next in line; a full queue, or too long a wait in it, is a BulkheadRejectedError.
 *
 * @example
 * const policy = new Bulkhead({ maxConcurrent: 10, maxQueue: 50 })
 */
export class Bulkhead extends LeafPolicy {
	readonly #layer: BulkheadLayer
	#options: BulkheadOptions

	constructor(options: BulkheadOptions = {}) {
		const settings = readBulkheadOptions(options)
		const layer = new BulkheadLayer(settings, settings.maxConcurrent)
		super('bulkhead', options, layer)
		layer.name = this.name
		this.#layer = layer
		this.#options = options
	}

	get stats(): BulkheadStats {
		const { slots, settings, limit } = this.#layer
		const { concurrent, queued } = slots
		return { concurrent, queued, maxConcurrent: limit, maxQueue: settings.maxQueue }
	}

	/** Other limits from now on. Who is in stays in, and who waits keeps the place in the queue. */
	update(options: Changes<BulkheadOptions>): void {
		const next = mergeOptions(this.#options, options)
		const settings = readBulkheadOptions(next)
		this.#options = next
		this.#layer.settings = settings
		this.#layer.resize(settings.maxConcurrent)
	}
}

/**
 * A bulkhead: `new Bulkhead(options)`.
 *
 * @example
 * const payments = pipeline(bulkhead({ maxConcurrent: 10, maxQueue: 50 }), retry(presets.externalApi))
 */
export function bulkhead(options?: BulkheadOptions): Bulkhead {
	return new Bulkhead(options)
}
