/** What came of a study: its cases with the runs that were made, all of them or as many as there was time for. */
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
	/** Runs that were asked for, in all. */
	readonly planned: number
}

/**
 * Runs a study, or a scenario as a study of one, in this thread. The command line does the same on all cores.
 *
 * @example
 * const outcome = runStudy(await scenarios.herd(), { replications: 3 })
 * const picture = svgOf(outcome)
 */
export function runStudy(given: Study | Scenario, options: ReplicateOptions = {}): StudyResult {
	const study = toStudy(given, 'scenario')
	const { replications = study.replications ?? DEFAULT_REPLICATIONS, onRun } = options
	const runs = listCases(study).map(({ scenario }) => replicate(scenario, { replications, onRun }).runs)
	return outcomeOf(study, replications, runs)
}

/** `runs` are by the number of the case, each list in the order of its seeds; what is missing was not run. */
export function outcomeOf(
	study: Study,
	replications: number | undefined,
	runs: readonly (readonly SimulationResult[])[],
): StudyResult {
	const cases = listCases(study)
	const each = replications ?? study.replications ?? DEFAULT_REPLICATIONS
	return {
		study,
		planned: cases.length * each,
		cases: cases.map((one, index) => ({ case: one, runs: runs[index] ?? [] })),
	}
}

/** How many runs there are. */
export const runsOf = ({ cases }: StudyResult): number =>
	cases.reduce((sum, { runs }) => sum + runs.length, 0)

/** The cases that have been run at all, side by side. */
export const comparedOf = ({ cases }: StudyResult): readonly ComparisonResult[] =>
	compareRuns(
		cases.filter(({ runs }) => runs.length > 0).map((one) => [one.case.name, mergeRuns(one.runs)] as const),
	)
