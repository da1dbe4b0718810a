/** What came of a study: its cases with the runs that were made, all of them or as many as there was time for. */
import type { Result } from '../measure/result.ts'
import { type Compared, sideBySide } from '../run/compare.ts'
import { merged, REPLICATIONS, type ReplicateOptions, replicate } from '../run/replicate.ts'
import { type Case, casesOf, type Study, studyOf } from '../run/study.ts'
import type { Scenario } from '../scenario/scenario.ts'

export interface CaseOutcome {
	readonly case: Case
	/** In the order of their seeds. */
	readonly runs: readonly Result[]
}

export interface Outcome {
	readonly study: Study
	readonly cases: readonly CaseOutcome[]
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
export function runStudy(given: Study | Scenario, options: ReplicateOptions = {}): Outcome {
	const study = studyOf(given, 'scenario')
	const { replications = study.replications ?? REPLICATIONS, onRun } = options
	const runs = casesOf(study).map(({ scenario }) => replicate(scenario, { replications, onRun }).runs)
	return outcomeOf(study, replications, runs)
}

/** `runs` are by the number of the case, each list in the order of its seeds; what is missing was not run. */
export function outcomeOf(
	study: Study,
	replications: number | undefined,
	runs: readonly (readonly Result[])[],
): Outcome {
	const cases = casesOf(study)
	const each = replications ?? study.replications ?? REPLICATIONS
	return {
		study,
		planned: cases.length * each,
		cases: cases.map((one, index) => ({ case: one, runs: runs[index] ?? [] })),
	}
}

/** How many runs there are. */
export const runsOf = ({ cases }: Outcome): number => cases.reduce((sum, { runs }) => sum + runs.length, 0)

/** The cases that have been run at all, side by side. */
export const comparedOf = ({ cases }: Outcome): readonly Compared[] =>
	sideBySide(
		cases.filter(({ runs }) => runs.length > 0).map((one) => [one.case.name, merged(one.runs)] as const),
	)
