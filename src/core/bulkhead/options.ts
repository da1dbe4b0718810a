import type { CallOptions } from '../engine/call-options.ts'
import { checkPolicyOptions, POLICY_SCHEMA, type PolicyOptions } from '../engine/policy-options.ts'
import { invalidOption, MAX_NUMBER, type OptionSchema, readOptions } from '../options/schema.ts'

/** Who may wait for a slot and for how long, and when a hung one is given back. */
export interface QueueOptions extends PolicyOptions {
	/** How many calls may wait for a slot; one more is rejected. Infinity: no bound. Default 50. */
	readonly maxQueue?: number | undefined
	/** A call that has waited this long for a slot is rejected. Infinity: never. Default 30,000. */
	readonly queueTimeoutMs?: number | undefined
	/**
	 * How long work that goes on after its call was answered, as after a timeout that it ignores, may keep its slot.
	 * Default: until it settles.
	 */
	readonly abandonAfterMs?: number | undefined
	/** Who waits with a higher number goes first; equals go in the order in which they came. Default: all are equal. */
	readonly priority?: ((call: CallOptions) => number) | undefined
}

/** How many calls may run at once, and what becomes of the others. */
export interface BulkheadOptions extends QueueOptions {
	/** How many calls may run at once. Default 10. */
	readonly maxConcurrent?: number | undefined
}

/** Queue options after the check, with every default filled in. */
export interface QueueSettings extends PolicyOptions {
	readonly maxQueue: number
	readonly queueTimeoutMs: number
	/** Infinity when a slot is kept until its work settles. */
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

/** Slots and places are counted: half a one is a limit that nobody meant. Infinity passes. */
export function checkIntegers(counts: Readonly<Record<string, number>>): void {
	for (const [option, count] of Object.entries(counts)) {
		if (count % 1) invalidOption(option, count, 'a whole number')
	}
}
