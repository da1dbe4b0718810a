import type { CallOptions } from '../engine/call-options.ts'
import { checkPolicyOptions, POLICY_SCHEMA, type PolicyOptions } from '../engine/policy-options.ts'
import { invalidOption, MAX_NUMBER, type OptionSchema, readOptions } from '../options/schema.ts'

/** Queue limits, and when a hung slot is reclaimed. */
export interface QueueOptions extends PolicyOptions {
	/** The maximum number of queued calls. Further calls are rejected. Infinity: no limit. Default 50. */
	readonly maxQueue?: number | undefined
	/** A call that has been queued for this long is rejected. Infinity: never. Default 30,000. */
	readonly queueTimeoutMs?: number | undefined
	/**
	 * How long an operation that outlives its call, for example because it ignores a timeout, may keep its slot.
	 * Default: until it settles.
	 */
	readonly abandonAfterMs?: number | undefined
	/** Queued calls with a higher number go first; equal ones in order of arrival. Default: all are equal. */
	readonly priority?: ((call: CallOptions) => number) | undefined
}

/** The concurrency limit and the queue. */
export interface BulkheadOptions extends QueueOptions {
	/** The maximum number of concurrent calls. Default 10. */
	readonly maxConcurrent?: number | undefined
}

/** The validated options with all defaults. */
export interface QueueSettings extends PolicyOptions {
	readonly maxQueue: number
	readonly queueTimeoutMs: number
	/** Infinity if a slot is kept until its operation settles. */
	readonly abandonAfterMs: number
	readonly priority?: ((call: CallOptions) => number) | undefined
}

export interface BulkheadSettings extends QueueSettings {
	readonly maxConcurrent: number
}

export const QUEUE_SCHEMA: OptionSchema = {
	maxQueue: [0, Infinity, 50],
	queueTimeoutMs: [0, Infinity, 30_000],
	abandonAfterMs: [0, Infinity, Infinity],
	priority: 'function',
	...POLICY_SCHEMA,
}

const BULKHEAD_SCHEMA: OptionSchema = { maxConcurrent: [1, MAX_NUMBER, 10], ...QUEUE_SCHEMA }

export function readBulkheadOptions(options: BulkheadOptions): BulkheadSettings {
	checkPolicyOptions(options, BULKHEAD_SCHEMA, 'bulkhead')
	const settings = readOptions<BulkheadSettings>(options, BULKHEAD_SCHEMA)
	const { maxConcurrent, maxQueue } = settings
	checkIntegers({ maxConcurrent, maxQueue })
	return settings
}

/** Throws for counts that are not integers. Infinity passes. */
export function checkIntegers(counts: Readonly<Record<string, number>>): void {
	for (const [option, count] of Object.entries(counts)) {
		if (count % 1) invalidOption(option, count, 'an integer')
	}
}
