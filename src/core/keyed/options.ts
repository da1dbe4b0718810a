import { POLICY_SCHEMA, type PolicyOptions, readPolicyOptions } from '../engine/policy-options.ts'
import { type Filled, MAX_NUMBER, type OptionSchema } from '../options/schema.ts'

/** Options of `keyed`, its third argument: how many keys are kept, and for how long. */
export interface KeyedOptions extends PolicyOptions {
	/**
	 * The maximum number of keys. Beyond it the key that has been idle for longest is evicted, never one in
	 * use. Keys with an open or isolated circuit are kept on top of the limit, up to `maxKeys` of each. Beyond
	 * that one is evicted with a console warning. Default 1,000.
	 */
	readonly maxKeys?: number | undefined
	/** A key that is idle for this long is evicted. Infinity: never. Default 600,000 (ten minutes). */
	readonly idleMs?: number | undefined
}

const KEYED_SCHEMA: OptionSchema = {
	maxKeys: [1, MAX_NUMBER, 1_000, 'integer'],
	idleMs: [0, Infinity, 600_000],
	...POLICY_SCHEMA,
}

export function readKeyedOptions(options: KeyedOptions): Filled<KeyedOptions> {
	return readPolicyOptions(options, 'keyed', KEYED_SCHEMA)
}
