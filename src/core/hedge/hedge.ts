import { LeafPolicy } from '../engine/policy.ts'
import { type Changes, NO_OPTIONS } from '../engine/policy-options.ts'
import { mergeOptions } from '../options/schema.ts'
import { HedgeLayer } from './layer.ts'
import { type HedgeOptions, readHedgeOptions } from './options.ts'

/**
 * The current delay before a hedge sends its second request; undefined while too few latencies are known.
 * Read it from `stats` of a `Hedge`.
 */
export interface HedgeStats {
	/** The delay before a call is hedged; undefined while too few latencies are known. */
	readonly delayMs: number | undefined
}

/**
 * A policy that sends a second request if the first takes longer than usual, returns the first result and
 * aborts the others. `hedge()` creates it. Only for idempotent operations: calls with `idempotent: false` are
 * never hedged.
 */
export class Hedge extends LeafPolicy {
	/** @internal */
	declare protected readonly layer: HedgeLayer

	constructor(options: HedgeOptions = NO_OPTIONS) {
		super('hedge', options, new HedgeLayer(readHedgeOptions(options)))
	}

	get stats(): HedgeStats {
		return { delayMs: this.layer.delayMs }
	}

	/** Changes settings for later calls. Measured latencies stay. */
	update(options: Changes<HedgeOptions>): void {
		const next = mergeOptions(this.options, options)
		this.layer.settings = readHedgeOptions(next)
		this.options = next
	}
}

/**
 * Creates a policy that sends a second request if the first takes longer than usual.
 *
 * @example
 * const reads = pipeline(hedge({ delayMs: 50, budget }), timeout(1_000))
 */
export function hedge(options?: HedgeOptions): Hedge {
	return new Hedge(options)
}
