import type { Classifier } from '../classify/classification.ts'
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** Options that every policy has, such as `retry` and `pipeline`. */
export interface PolicyOptions {
	/** The name in events and in `explain`. */
	readonly name?: string | undefined
	/** Source of time and randomness. Default: the pipeline's runtime, or the system's. */
	readonly runtime?: Runtime | undefined
	/** Your own classification of errors, asked before the built-in one. */
	readonly classify?: Classifier | undefined
}

/** The options that `update` can change. The rest of a pipeline relies on the others. */
export type Changes<Options> = Omit<Options, keyof PolicyOptions | 'onEvent'>

/** One shared object, because thousands of policies are created without options. */
export const NO_OPTIONS: PolicyOptions = /* @__PURE__ */ Object.freeze({})

export const POLICY_SCHEMA: OptionSchema = { name: 'string', runtime: 'any', classify: 'function' }

/** Validates the options of a policy and fills in the defaults of `schema`. `owner` is named in the error of an unknown option. */
export function readPolicyOptions<Settings extends PolicyOptions = PolicyOptions>(
	options: PolicyOptions,
	owner: string,
	schema: OptionSchema = POLICY_SCHEMA,
): Settings {
	if (typeof options === 'function')
		invalidOption('options', options, `an object of options, and the function in ${owner}(...).execute(fn)`)
	checkNames(options, schema, owner)
	const settings = readOptions<Settings>(options, schema)
	const { runtime } = settings
	if (runtime && !runtime.setTimer) invalidOption('runtime', runtime, 'a Runtime')
	return settings
}
