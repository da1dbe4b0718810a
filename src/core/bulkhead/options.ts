import type { CallOptions } from '../engine/call-options.ts'
import { POLICY_SCHEMA, type PolicyOptions, readPolicyOptions } from '../engine/policy-options.ts'
import {
	checkName,
	checkRange,
	type Filled,
	invalidBound,
	MAX_NUMBER,
	type OptionSchema,
} from '../options/schema.ts'
import { ALGORITHMS, type LimitSettings, within } from './limits.ts'

/** Queue limits, and when a hung slot is reclaimed. */
interface QueueOptions extends PolicyOptions {
	/** The maximum number of queued calls. Further calls are rejected. Infinity: no limit. Default 50. */
	readonly maxQueue?: number | undefined
	/** A call that has been queued for this long is rejected. Infinity: never. Default 30,000. */
	readonly queueTimeoutMs?: number | undefined
	/**
	 * How long an operation that outlives its call, for example because it ignores a timeout, may keep its
	 * slot. Default: until it settles.
	 */
	readonly abandonAfterMs?: number | undefined
	/** Queued calls with a higher number go first; equal ones in order of arrival. Default: all are equal. */
	readonly priority?: ((call: CallOptions) => number) | undefined
}

/** Options of `bulkhead`: the concurrency limit and the queue. */
export interface BulkheadOptions extends QueueOptions {
	/** The maximum number of concurrent calls. Default 10. */
	readonly maxConcurrent?: number | undefined
}

export type QueueSettings = Filled<QueueOptions>

const QUEUE_SCHEMA: OptionSchema = {
	maxQueue: [0, Infinity, 50, 'integer'],
	queueTimeoutMs: [0, Infinity, 30_000],
	abandonAfterMs: [0, Infinity, Infinity],
	priority: 'function',
	...POLICY_SCHEMA,
}

const BULKHEAD_SCHEMA: OptionSchema = { maxConcurrent: [1, MAX_NUMBER, 10, 'integer'], ...QUEUE_SCHEMA }

export function readBulkheadOptions(options: BulkheadOptions): Filled<BulkheadOptions> {
	return readPolicyOptions(options, 'bulkhead', BULKHEAD_SCHEMA)
}

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
