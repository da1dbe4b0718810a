import { LeafPolicy } from '../engine/policy.ts'
import { type Changes, NO_OPTIONS } from '../engine/policy-options.ts'
import { mergeOptions } from '../options/schema.ts'
import { BulkheadLayer, DEFAULT_NAME } from './layer.ts'
import { type BulkheadOptions, readBulkheadOptions } from './options.ts'

/**
 * How many calls run and how many wait, with the limits. Read it from `stats` of a `Bulkhead` or an
 * `AdaptiveBulkhead`.
 */
export interface BulkheadStats {
	/** Calls that hold a slot. */
	readonly concurrent: number
	/** Calls in the queue. */
	readonly queued: number
	/** The maximum number of concurrent calls. */
	readonly maxConcurrent: number
	readonly maxQueue: number
}

/**
 * A policy that limits the number of concurrent calls, so that one slow dependency cannot exhaust the
 * process. `bulkhead()` creates it. A free slot goes to the next call in the queue. If the queue is full, or
 * a call waits in it for too long, the call is rejected with a `BulkheadRejectedError`.
 */
export class Bulkhead extends LeafPolicy {
	/** @internal */
	declare protected readonly layer: BulkheadLayer

	constructor(options: BulkheadOptions = NO_OPTIONS) {
		const settings = readBulkheadOptions(options)
		super(DEFAULT_NAME, options, new BulkheadLayer(settings, settings.maxConcurrent))
	}

	/** @internal */
	override get isExclusive(): boolean {
		return true
	}

	get stats(): BulkheadStats {
		const { slots, settings, limit } = this.layer
		const { concurrent, queued } = slots
		return { concurrent, queued, maxConcurrent: limit, maxQueue: settings.maxQueue }
	}

	/** Changes the limits. Running calls keep their slots, and queued calls keep their positions. */
	update(options: Changes<BulkheadOptions>): void {
		const next = mergeOptions(this.options, options)
		const settings = readBulkheadOptions(next)
		this.options = next
		this.layer.settings = settings
		this.layer.resize(settings.maxConcurrent)
	}
}

/**
 * Creates a bulkhead: a policy that limits the number of concurrent calls.
 *
 * @example
 * const payments = pipeline(bulkhead({ maxConcurrent: 10, maxQueue: 50 }), retry(presets.externalApi))
 */
export function bulkhead(options?: BulkheadOptions): Bulkhead {
	return new Bulkhead(options)
}
