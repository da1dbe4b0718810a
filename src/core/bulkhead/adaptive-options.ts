import { checkPolicyOptions } from '../engine/policy-options.ts'
import { checkRange, invalidOption, MAX_NUMBER, type OptionSchema, readOptions } from '../options/schema.ts'
import { ALGORITHMS, type LimitSettings, within } from './limits.ts'
import { checkIntegers, QUEUE_SCHEMA, type QueueOptions, type QueueSettings } from './options.ts'

/** How the bulkhead finds its limit, and within which bounds. */
export interface AdaptiveBulkheadOptions extends QueueOptions {
	/**
	 * How the limit is found: `'gradient'` compares the latency with the latency of a server without a queue; `'aimd'` uses only failures
	 * (and calls slower than `latencyLimitMs`). Default `'gradient'`.
	 */
	readonly algorithm?: LimitSettings['algorithm'] | undefined
	/** The minimum of the limit. Default 1. */
	readonly minConcurrent?: number | undefined
	/** The maximum of the limit. Default 200. */
	readonly maxConcurrent?: number | undefined
	/** The initial limit. Default 20, or the nearest bound if 20 is outside of the bounds. */
	readonly initialConcurrent?: number | undefined
	/** The factor by which latency may grow before `'gradient'` lowers the limit. Default 1.5. */
	readonly latencyTolerance?: number | undefined
	/** A slower call counts as a failure. Default: off. */
	readonly latencyLimitMs?: number | undefined
}

/** The validated options with all defaults. */
export interface AdaptiveBulkheadSettings extends QueueSettings, LimitSettings {}

const ADAPTIVE_SCHEMA: OptionSchema = {
	algorithm: 'any',
	minConcurrent: [1, MAX_NUMBER, 1],
	maxConcurrent: [1, MAX_NUMBER, 200],
	initialConcurrent: [1, MAX_NUMBER, 20],
	latencyTolerance: [1, MAX_NUMBER, 1.5],
	latencyLimitMs: [0, Infinity, Infinity],
	...QUEUE_SCHEMA,
}

export function readAdaptiveBulkheadOptions(options: AdaptiveBulkheadOptions): AdaptiveBulkheadSettings {
	checkPolicyOptions(options, ADAPTIVE_SCHEMA, 'adaptiveBulkhead')
	const settings = readOptions<AdaptiveBulkheadSettings>(options, ADAPTIVE_SCHEMA)
	const { minConcurrent, maxConcurrent, maxQueue } = settings
	const { algorithm = 'gradient', initialConcurrent = within(settings, settings.initialConcurrent) } = options
	if (!Object.hasOwn(ALGORITHMS, String(algorithm)))
		invalidOption('algorithm', algorithm, `one of ${Object.keys(ALGORITHMS).join(', ')}`)
	checkIntegers({ minConcurrent, maxConcurrent, initialConcurrent, maxQueue })
	if (maxConcurrent < minConcurrent) {
		invalidOption(
			'maxConcurrent',
			maxConcurrent,
			`at least minConcurrent (${minConcurrent})${options.maxConcurrent === undefined ? ' instead of the default' : ''}`,
		)
	}
	checkRange('initialConcurrent', initialConcurrent, minConcurrent, maxConcurrent)
	return { ...settings, algorithm, initialConcurrent }
}
