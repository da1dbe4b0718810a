/** Runs a study. Separate from the reports, which need results but no simulator. */
import type { SimulationResult } from '../measure/result.ts'
import { DEFAULT_REPLICATIONS, type ReplicateOptions, replicate } from '../run/replicate.ts'
import { listCases, type Study, toStudy } from '../run/study.ts'
import type { Scenario } from '../scenario/scenario.ts'
import type { StudyResult } from './study-result.ts'

/**
 * Runs a study, or a single scenario, in this thread. `yaoki simulate` does the same on all cores.
 *
 * @example
 * const study = await scenarios['herd']?.()
 * if (study) console.log(toText(runStudy(study, { replications: 3 })))
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
