/**
 * Runs scenarios with several seeds. A single run is an anecdote: near the edge of stability one seed
 * recovers and the next does not. Results are merged in the order of the seeds, so that it does not matter
 * where and in which order the runs were made.
 */
import { withOptionPath } from '../../core/options/option-path.ts'
import { invalidArgument, invalidOption } from '../../core/options/schema.ts'
import { type ComparisonResult, compareRuns, mergeRuns, type Replications } from '../measure/replications.ts'
import type { SimulationResult } from '../measure/result.ts'
import { checkIsScenario, checkScenario } from '../scenario/check.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { callback, count, fields } from '../scenario/shape.ts'
import { simulate } from './simulation.ts'
import { overEqualTime } from './study.ts'

/** Options of `replicate`, `compare` and `runStudy`. */
export interface ReplicateOptions {
	/** Number of runs, each with the next seed. Default 10. */
	readonly replications?: number | undefined
	/** Called after each run. */
	readonly onRun?: ((result: SimulationResult, done: number, total: number) => void) | undefined
}

export const DEFAULT_REPLICATIONS = 10

const runCount = count(1, 1e6)
const checkOptions = fields({ 'replications?': runCount, 'onRun?': callback })

/** Returns the seeds of several runs: a number is counted up, a string gets a number appended. */
export function seedsFor({ seed = 1 }: Scenario, replications: number): (number | string)[] {
	runCount(replications, 'replications')
	return Array.from({ length: replications }, (_, index) =>
		typeof seed === 'number' ? seed + index : `${seed} ${index}`,
	)
}

/**
 * Runs a scenario several times, with consecutive seeds. All runs cover the same time: with
 * `until: 'recovered'` they last for the `durationMs`.
 *
 * @example
 * const { measures, neverRecoveredShare } = replicate(scenario, { replications: 20 })
 * console.log(measures.amplification.mean, neverRecoveredShare)
 */
export function replicate(scenario: Scenario, options: ReplicateOptions = {}): Replications {
	checkScenario(scenario)
	checkOptions(options, '')
	const { replications = DEFAULT_REPLICATIONS, onRun } = options
	const seeds = seedsFor(scenario, replications)
	return mergeRuns(
		seeds.map((seed, index) => {
			const result = simulate({ ...overEqualTime(scenario), seed })
			onRun?.(result, index + 1, seeds.length)
			return result
		}),
	)
}

/**
 * Runs several scenarios with the same seeds, so that all have the same arrivals and service times.
 * Differences are to the first scenario. The seed may be given in any of the scenarios.
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
		invalidArgument('scenarios', scenarios, 'a non-empty list of scenarios')
	checkOptions(options, '')
	const seed = scenarios.find((scenario) => scenario?.seed !== undefined)?.seed
	return compareRuns(
		scenarios.map((scenario, index) => {
			const path = `scenarios[${index}]`
			checkIsScenario(scenario, path)
			if (scenario.seed !== undefined && scenario.seed !== seed)
				invalidOption(`${path}.seed`, scenario.seed, `the same seed in all scenarios, ${seed}`)
			const runs = withOptionPath(path, () => replicate({ ...scenario, seed }, options))
			return [scenario.name ?? `scenario ${index + 1}`, runs]
		}),
	)
}
