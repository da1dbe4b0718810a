/**
 * Scenarios side by side, run with the same seeds: each meets the same arrivals and the same service times, so what differs is
 * their own doing, and the differences are taken seed by seed.
 */
import { invalidOption } from '../../core/options/schema.ts'
import { type Estimate, estimate } from '../measure/estimate.ts'
import { MEASURE_NAMES, type MeasureName, readMeasure } from '../measure/measures.ts'
import type { SimulationResult } from '../measure/result.ts'
import { located } from '../scenario/located.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { checkReplicateOptions, type ReplicateOptions, type Replications, replicate } from './replicate.ts'

/** One scenario of a comparison. */
export interface ComparisonResult extends Replications {
	readonly name: string
	/** By figure, how much more it is than in the first scenario, seed by seed. Zero outside of the interval is a difference. */
	readonly difference: Readonly<Record<MeasureName, Estimate>>
}

/**
 * Runs several scenarios with the same seeds: the seed of whichever of them names one. Differences are to the first of them.
 *
 * @example
 * const [none, full] = compare([
 *   { name: 'no jitter', ...herd, policies: { client: [{ retry: { jitterStrategy: 'none' } }] } },
 *   { name: 'full jitter', ...herd, policies: { client: [{ retry: { jitterStrategy: 'full' } }] } },
 * ])
 */
export function compare(
	scenarios: readonly Scenario[],
	options: ReplicateOptions = {},
): readonly ComparisonResult[] {
	if (!Array.isArray(scenarios) || scenarios.length === 0)
		invalidOption('scenarios', scenarios, 'a list of scenarios')
	checkReplicateOptions(options)
	const seed = scenarios.find((scenario) => scenario?.seed !== undefined)?.seed
	return compareRuns(
		scenarios.map((scenario, index) => {
			const path = `scenarios[${index}]`
			if (scenario?.seed !== undefined && scenario.seed !== seed)
				invalidOption(
					`${path}.seed`,
					scenario.seed,
					`${seed} as in the others, for they are compared seed by seed`,
				)
			const runs = located(path, () => replicate({ ...scenario, seed }, options))
			return [scenario.name ?? `scenario ${index + 1}`, runs]
		}),
	)
}

/** Of runs that were made already. */
export function compareRuns(
	all: readonly (readonly [name: string, replications: Replications])[],
): readonly ComparisonResult[] {
	const first = all[0]?.[1].runs ?? []
	return all.map(([name, one]) => ({ name, ...one, difference: differences(one.runs, first) }))
}

function differences(
	runs: readonly SimulationResult[],
	first: readonly SimulationResult[],
): Record<MeasureName, Estimate> {
	const pairs = runs.flatMap((run, index) => {
		const other = first[index]
		return other ? [[run, other] as const] : []
	})
	return Object.fromEntries(
		MEASURE_NAMES.map((name) => {
			const values = pairs.flatMap(([run, other]) => {
				const [here, there] = [readMeasure(name, run), readMeasure(name, other)]
				return here === null || there === null ? [] : [here - there]
			})
			return [name, estimate(values)]
		}),
	) as Record<MeasureName, Estimate>
}
