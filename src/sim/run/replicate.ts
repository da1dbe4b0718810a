/**
 * The same scenario with several seeds. One run is an anecdote: near the edge of stability one seed recovers and the next
 * does not. Runs are merged in the order of their seeds, so that it does not matter where and in which order they ran.
 */
import { invalidOption } from '../../core/options/schema.ts'
import { type Estimate, estimate } from '../measure/estimate.ts'
import { MEASURE_NAMES, type MeasureName, readMeasure } from '../measure/measures.ts'
import type { SimulationResult } from '../measure/result.ts'
import { checkScenario } from '../scenario/check.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { count, fields } from '../scenario/shape.ts'
import { simulate } from './simulate.ts'

export interface ReplicateOptions {
	/** How many runs, each with the next seed. Default 10. */
	readonly replications?: number | undefined
	/** Told after each run. */
	readonly onRun?: ((result: SimulationResult, done: number, of: number) => void) | undefined
}

/** What several runs of one scenario say. */
export interface Replications {
	readonly runs: readonly SimulationResult[]
	/** Of each figure, over the runs that have it: a time to recovery is over the runs that did recover. */
	readonly measures: Readonly<Record<MeasureName, Estimate>>
	/** The share of runs that had a fault and never recovered from it, 0 to 1. */
	readonly neverRecoveredShare: number
}

export const DEFAULT_REPLICATIONS = 10

const runCount = count(1, 1e6)
const optionsShape = fields({
	'replications?': runCount,
	'onRun?': (value, path) => {
		if (typeof value !== 'function') invalidOption(path, value, 'a function')
	},
})

export const checkReplicateOptions = (options: ReplicateOptions): void => optionsShape(options, '')

/** The seeds of so many runs: a number is counted up, a text gets a number. */
export function seedsFor({ seed = 1 }: Scenario, replications: number): (number | string)[] {
	runCount(replications, 'replications')
	return Array.from({ length: replications }, (_, index) =>
		typeof seed === 'number' ? seed + index : `${seed} ${index}`,
	)
}

/**
 * Runs a scenario several times, with one seed after the other.
 *
 * @example
 * const { measures, neverRecoveredShare } = replicate(scenario, { replications: 20 })
 * console.log(measures.amplification.mean, neverRecoveredShare)
 */
export function replicate(scenario: Scenario, options: ReplicateOptions = {}): Replications {
	checkScenario(scenario)
	checkReplicateOptions(options)
	const { replications = DEFAULT_REPLICATIONS, onRun } = options
	const seeds = seedsFor(scenario, replications)
	return mergeRuns(
		seeds.map((seed, index) => {
			const result = simulate({ ...scenario, seed })
			onRun?.(result, index + 1, seeds.length)
			return result
		}),
	)
}

/** What runs say together. They must be in the order of their seeds. */
export function mergeRuns(runs: readonly SimulationResult[]): Replications {
	const measures = Object.fromEntries(
		MEASURE_NAMES.map((name) => [
			name,
			estimate(runs.map((run) => readMeasure(name, run)).filter((value) => value !== null)),
		]),
	) as Record<MeasureName, Estimate>
	const faulty = runs.filter(({ recovery }) => recovery !== null)
	const stuck = faulty.filter(({ recovery }) => recovery?.recoveredAfterMs === null)
	return { runs, measures, neverRecoveredShare: faulty.length === 0 ? 0 : stuck.length / faulty.length }
}
