import { checkPolicyOptions, POLICY_RULES, type PolicyOptions } from '../engine/policy-options.ts'
import { MOST, type Rules, readOptions, refuse } from '../options/rules.ts'

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

const KEYED_RULES: Rules = {
	maxKeys: [1, MOST, 1_000],
	idleMs: [0, Infinity, 600_000],
	...POLICY_RULES,
}

export function readKeyedOptions(options: KeyedOptions): KeyedSettings {
	checkPolicyOptions(options, KEYED_RULES)
	const settings = readOptions<KeyedSettings>(options, KEYED_RULES)
	const { maxKeys } = settings
	if (maxKeys % 1) refuse('maxKeys', maxKeys, 'a whole number')
	return settings
}
