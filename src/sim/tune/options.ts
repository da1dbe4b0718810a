/** The options of a search, with their defaults. */
import { invalidArgument } from '../../core/options/schema.ts'
import { MEASURE_NAMES, type MeasureName } from '../measure/measures.ts'
import { callback, count, fields, flag, oneOf } from '../scenario/shape.ts'
import { layersOf, type Policies } from './changes.ts'
import { checkConstraints, type TuneConstraints } from './constraints.ts'
import type { TuneStep } from './tune-result.ts'

/** Options of `tune`, its third argument. `constraints` is required. */
export interface TuneOptions {
	/** What every run must satisfy. */
	readonly constraints: TuneConstraints
	/** The measure that decides between changes of the same size. Default `'goodShare'`. */
	readonly objective?: MeasureName | undefined
	/** Runs per policy, each with the next seed. Default 5. */
	readonly replications?: number | undefined
	/** Maximum number of combined changes, 1 or 2. Default 2. */
	readonly maxChanges?: number | undefined
	/** Maximum number of policies to try. Default 500. */
	readonly maxSteps?: number | undefined
	/** Also measures how much each setting matters, which takes `replications` runs for every single change. Default false. */
	readonly sensitivity?: boolean | undefined
	/** Called for each policy that was tried. */
	readonly onStep?: ((step: TuneStep, count: number) => void) | undefined
}

/** Options with every default filled in. */
export type TuneSettings = {
	readonly [Name in Exclude<keyof TuneOptions, 'onStep'>]-?: NonNullable<TuneOptions[Name]>
} & Pick<TuneOptions, 'onStep'>

const checkOptions = fields({
	constraints: checkConstraints,
	'objective?': oneOf(...MEASURE_NAMES),
	'replications?': count(1, 1e6),
	'maxChanges?': count(1, 2),
	'maxSteps?': count(1, 1e6),
	'sensitivity?': flag,
	'onStep?': callback,
})

export const DEFAULT_TUNE_REPLICATIONS = 5

export function readTuneOptions(options: TuneOptions): TuneSettings {
	checkOptions(options, '')
	const {
		constraints,
		objective = 'goodShare',
		replications = DEFAULT_TUNE_REPLICATIONS,
		maxChanges = 2,
		maxSteps = 500,
		sensitivity = false,
		onStep,
	} = options
	return { constraints, objective, replications, maxChanges, maxSteps, sensitivity, onStep }
}

/** Returns the names of the policies to change. Each must be given as layers. */
export function readPolicyNames(
	given: string | readonly string[],
	policies: Policies = {},
): readonly string[] {
	const names = typeof given === 'string' ? [given] : given
	if (!Array.isArray(names) || names.length === 0)
		invalidArgument('policies', given, 'the name of a policy, or a non-empty list of names')
	for (const name of names) layersOf(name, policies)
	return [...new Set<string>(names)]
}
