/** The result of a study: its cases with their runs, which are fewer than planned if the study was interrupted. */
import { type ComparisonResult, compareRuns, mergeRuns } from '../measure/replications.ts'
import type { SimulationResult } from '../measure/result.ts'
import type { Study, StudyCase } from '../run/study.ts'

export interface StudyCaseResult {
	readonly case: StudyCase
	/** In the order of their seeds. */
	readonly runs: readonly SimulationResult[]
}

/** The runs of a study, which `runStudy` returns, for `toText`, `toHTML`, `toSVG` and `toJSON`. */
export interface StudyResult {
	readonly study: Study
	readonly cases: readonly StudyCaseResult[]
	/** The number of runs that were planned, over all cases. */
	readonly planned: number
	/** What limits the result, a sentence each: in every report, and below the subtitle of charts over time. */
	readonly notes?: readonly string[] | undefined
}

export const countRuns = ({ cases }: StudyResult): number =>
	cases.reduce((sum, { runs }) => sum + runs.length, 0)

export const casesWithRuns = ({ cases }: StudyResult): readonly StudyCaseResult[] =>
	cases.filter(({ runs }) => runs.length > 0)

/** Returns the number of runs of a case, or the least and the greatest number: `8 to 10`. */
export function runsPerCase(cases: readonly StudyCaseResult[]): string {
	const counts = cases.map(({ runs }) => runs.length)
	const [min, max] = [Math.min(...counts), Math.max(...counts)]
	return min === max ? String(max) : `${min} to ${max}`
}

/** Returns the cases that have at least one run, compared with the first of them. */
export const compareCases = (result: StudyResult): readonly ComparisonResult[] =>
	compareRuns(casesWithRuns(result).map((one) => [one.case.name, mergeRuns(one.runs)] as const))
