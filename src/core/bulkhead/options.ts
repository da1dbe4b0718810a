import type { CallOptions } from '../engine/call-options.ts'
import { POLICY_SCHEMA, type PolicyOptions, readPolicyOptions } from '../engine/policy-options.ts'
import { type Filled, MAX_NUMBER, type OptionSchema } from '../options/schema.ts'

/** Queue limits, and when a hung slot is reclaimed. */
export interface QueueOptions extends PolicyOptions {
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

export const QUEUE_SCHEMA: OptionSchema = {
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
