import type { Classify } from '../classify/classification.ts'
import { checkFunctions, checkNames, refuse } from '../options/ranges.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** What every policy takes, whatever else it takes. */
export interface PolicyOptions {
	/** What it is called in events and in `explain`. */
	readonly name?: string | undefined
	/** Time and chance. Default: the pipeline's, and in the end the system's. */
	readonly runtime?: Runtime | undefined
	/** Your own knowledge about errors, in front of the toolkit's. */
	readonly classify?: Classify | undefined
}

/** Refuses what can not work in these, and every name that is neither one of them nor one of `others`. */
export function checkPolicyOptions(options: PolicyOptions, ...others: readonly string[]): void {
	checkNames(options, ...others, 'name', 'runtime', 'classify')
	checkFunctions(options, 'classify')
	const { name = '', runtime } = options
	if (typeof name !== 'string') refuse('name', name, 'a string')
	if (runtime && typeof runtime.setTimer !== 'function') refuse('runtime', runtime, 'a Runtime')
}
