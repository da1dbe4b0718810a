import { checkPolicyOptions, POLICY_SCHEMA, type PolicyOptions } from '../engine/policy-options.ts'
import { invalidOption, MAX_NUMBER, type OptionSchema, readOptions } from '../options/schema.ts'

/** How many policies are kept by key, and for how long. */
export interface KeyedOptions extends PolicyOptions {
	/** How many keys are remembered; past that the one unused for longest is forgotten, never one in use. Default 1,000. */
	readonly maxKeys?: number | undefined
	/** A key that was not used for this long is forgotten. Infinity: never. Default 600,000 (ten minutes). */
	readonly idleMs?: number | undefined
}

/** Keyed options after the check, with every default filled in. */
export interface KeyedSettings extends PolicyOptions {
	readonly maxKeys: number
	readonly idleMs: number
}

const KEYED_SCHEMA: OptionSchema = {
	maxKeys: [1, MAX_NUMBER, 1_000],
	idleMs: [0, Infinity, 600_000],
	...POLICY_SCHEMA,
}

export function readKeyedOptions(options: KeyedOptions): KeyedSettings {
	checkPolicyOptions(options, KEYED_SCHEMA, 'keyed')
	const settings = readOptions<KeyedSettings>(options, KEYED_SCHEMA)
	const { maxKeys } = settings
	if (maxKeys % 1) invalidOption('maxKeys', maxKeys, 'a whole number')
	return settings
}
