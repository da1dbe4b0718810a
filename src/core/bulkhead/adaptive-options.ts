import { readPolicyOptions } from '../engine/policy-options.ts'
import {
	checkName,
	checkRange,
	type Filled,
	invalidBound,
	MAX_NUMBER,
	type OptionSchema,
} from '../options/schema.ts'
import { ALGORITHMS, type LimitSettings, within } from './limits.ts'
import { QUEUE_SCHEMA, type QueueOptions, type QueueSettings } from './options.ts'

/** Options of `adaptiveBulkhead`: how it finds its limit, and within which bounds. */
export interface AdaptiveBulkheadOptions extends QueueOptions {
	/**
	 * How the limit is found: `'gradient'` compares the latency with the latency of a server without a queue;
	 * `'aimd'` uses only failures (and calls slower than `latencyLimitMs`). Default `'gradient'`.
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

const ADAPTIVE_SCHEMA: OptionSchema = {
	algorithm: 'any',
	minConcurrent: [1, MAX_NUMBER, 1, 'integer'],
	maxConcurrent: [1, MAX_NUMBER, 200, 'integer'],
	initialConcurrent: [1, MAX_NUMBER, 20, 'integer'],
	latencyTolerance: [1, MAX_NUMBER, 1.5],
	latencyLimitMs: [0, Infinity, Infinity],
	...QUEUE_SCHEMA,
}

export function readAdaptiveBulkheadOptions(options: AdaptiveBulkheadOptions): QueueSettings & LimitSettings {
	const settings = readPolicyOptions<Filled<AdaptiveBulkheadOptions>>(
		options,
		'adaptiveBulkhead',
		ADAPTIVE_SCHEMA,
	)
	const { minConcurrent, maxConcurrent } = settings
	const { algorithm = 'gradient', initialConcurrent = within(settings, settings.initialConcurrent) } = options
	checkName('algorithm', algorithm, Object.keys(ALGORITHMS))
	if (maxConcurrent < minConcurrent)
		invalidBound(options, 'maxConcurrent', maxConcurrent, `at least minConcurrent (${minConcurrent})`)
	checkRange('initialConcurrent', initialConcurrent, minConcurrent, maxConcurrent)
	return { ...settings, algorithm, initialConcurrent }
}
