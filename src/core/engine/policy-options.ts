import type { Classifier } from '../classify/classification.ts'
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../options/schema.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** What every policy takes, whatever else it takes. */
export interface PolicyOptions {
	/** What it is called in events and in `explain`. */
	readonly name?: string | undefined
	/** Time and chance. Default: the pipeline's, and in the end the system's. */
	readonly runtime?: Runtime | undefined
	/** Your own knowledge about errors, in front of the toolkit's. */
	readonly classify?: Classifier | undefined
}

/** What of a policy's options can be changed later: what the rest of a pipeline relies on can not. */
export type Changes<Options> = Omit<Options, keyof PolicyOptions | 'onEvent'>

/** One for all that were given none: thousands of policies are made without. */
export const NO_OPTIONS: PolicyOptions = /* @__PURE__ */ Object.freeze({})

export const POLICY_SCHEMA: OptionSchema = { name: 'string', runtime: 'any', classify: 'function' }

/** Throws for invalid policy options and for names that `schema` does not have. `owner` is named in the error. */
export function checkPolicyOptions(
	options: PolicyOptions,
	schema: OptionSchema = POLICY_SCHEMA,
	owner?: string,
): void {
	checkNames(options, schema, owner)
	readOptions(options, POLICY_SCHEMA)
	const { runtime } = options
	if (runtime && !runtime.setTimer) invalidOption('runtime', runtime, 'a Runtime')
}
