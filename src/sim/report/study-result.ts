/** The result of a study: its cases with their runs, which are fewer than planned if the study was interrupted. */
import type { SimulationResult } from '../measure/result.ts'
import { type ComparisonResult, compareRuns } from '../run/compare.ts'
import { DEFAULT_REPLICATIONS, mergeRuns, type ReplicateOptions, replicate } from '../run/replicate.ts'
import { listCases, type Study, type StudyCase, toStudy } from '../run/study.ts'
import type { Scenario } from '../scenario/scenario.ts'

export interface StudyCaseResult {
	readonly case: StudyCase
	/** In the order of their seeds. */
	readonly runs: readonly SimulationResult[]
}

export interface StudyResult {
	readonly study: Study
	readonly cases: readonly StudyCaseResult[]
	/** The number of runs that were planned, over all cases. */
	readonly planned: number
}

/**
 * Runs a study, or a single scenario, in this thread. `yaoki simulate` does the same on all cores.
 *
 * @example
 * const result = runStudy(await scenarios.herd(), { replications: 3 })
 * const svg = toSVG(result)
 */
export function runStudy(given: Study | Scenario, options: ReplicateOptions = {}): StudyResult {
	const study = toStudy(given, 'scenario')
	const { replications = study.replications ?? DEFAULT_REPLICATIONS, onRun } = options
	const runs = listCases(study).map(({ scenario }) => replicate(scenario, { replications, onRun }).runs)
	return toStudyResult(study, replications, runs)
}

/** Returns the result of runs made elsewhere: a list per case, in the order of the seeds. Missing lists were not run. */
export function toStudyResult(
	study: Study,
	replications: number | undefined,
	runs: readonly (readonly SimulationResult[])[],
): StudyResult {
	const cases = listCases(study)
	const perCase = replications ?? study.replications ?? DEFAULT_REPLICATIONS
	return {
		study,
		planned: cases.length * perCase,
		cases: cases.map((one, index) => ({ case: one, runs: runs[index] ?? [] })),
	}
}

export const countRuns = ({ cases }: StudyResult): number =>
	cases.reduce((sum, { runs }) => sum + runs.length, 0)

/** Returns the cases that have at least one run. */
export const casesWithRuns = ({ cases }: StudyResult): readonly StudyCaseResult[] =>
	cases.filter(({ runs }) => runs.length > 0)

/** Returns the cases that have at least one run, compared with the first of them. */
export const compareCases = (result: StudyResult): readonly ComparisonResult[] =>
	compareRuns(casesWithRuns(result).map((one) => [one.case.name, mergeRuns(one.runs)] as const))
