/**
 * The result of a study as data for other programs. It has what a chart needs, too: faults and timelines. One
 * timeline per case is the default: a reader who wants to draw a run needs one, and it adds 17 to 29 % to the
 * bytes of a study with ten runs per case. Those of all runs make it three to four times as long.
 */
import type { Estimate } from '../measure/estimate.ts'
import type { MeasureName } from '../measure/measures.ts'
import type { SimulationResult } from '../measure/result.ts'
import { type ScheduledFault, scheduledFaults } from '../model/fault-schedule.ts'
import { type ChartName, isGrid } from '../run/study.ts'
import { fields, oneOf } from '../scenario/shape.ts'
import { chartSubject } from './chart-subject.ts'
import { casesWithRuns, compareCases, countRuns, type StudyResult } from './study-result.ts'

/** Options of `toJSON`. */
export interface JSONOptions {
	/** Which runs of a case have their timeline: the first one, all, or none. Default `'first'`. */
	readonly timelines?: 'first' | 'all' | 'none' | undefined
}

export type Timelines = NonNullable<JSONOptions['timelines']>

export const TIMELINES: readonly Timelines[] = ['first', 'all', 'none']

/** The result of a study as plain data, which `toJSON` returns. */
export interface StudyJSON {
	readonly title: string
	readonly description?: string
	/** What limits the result, a sentence each. */
	readonly notes?: readonly string[]
	/** Runs over all cases; fewer are made than planned if the study was interrupted. */
	readonly runs: { readonly made: number; readonly planned: number }
	/** The chart over time, and whose requests, work or responses it shows. Not for curves and heat maps. */
	readonly chart?: {
		readonly kind: ChartName
		readonly services?: readonly string[]
		readonly clients?: readonly string[]
	}
	/** The cases with at least one run, in the order of the study. */
	readonly cases: readonly CaseJSON[]
}

/** A variant, or a cell of a grid. */
interface CaseJSON {
	/** Name of the variant, or of the panel of a grid. */
	readonly name: string
	/** Position in the grid. */
	readonly x?: number
	readonly y?: number
	/** The scheduled faults, each with the name of its service. */
	readonly faults: readonly ScheduledFault[]
	/** Each measure over the runs. JSON has null where no run has a value. */
	readonly measures: Readonly<Record<MeasureName, Estimate>>
	/** Shares of the runs with a fault that recovered, that did not, and that ended too soon to tell, 0 to 1. */
	readonly recoveredShare: number
	readonly neverRecoveredShare: number
	readonly notShownShare: number
	/** Difference of each measure to the first case, seed by seed. */
	readonly difference: Readonly<Record<MeasureName, Estimate>>
	/** In the order of their seeds. Only runs that `timelines` selects have a timeline. */
	readonly runs: readonly RunJSON[]
}

/** The result of one run. */
type RunJSON = Omit<SimulationResult, 'timeline'> & Partial<Pick<SimulationResult, 'timeline'>>

const checkOptions = fields({ 'timelines?': oneOf(...TIMELINES) })

/**
 * Returns plain data for JSON, with the faults and the first timeline of each case.
 *
 * @example
 * const text = JSON.stringify(toJSON(result, { timelines: 'all' }))
 */
export function toJSON(result: StudyResult, options: JSONOptions = {}): StudyJSON {
	checkOptions(options, '')
	const { study, planned } = result
	const { timelines = 'first' } = options
	const cases = casesWithRuns(result)
	return {
		title: study.title,
		...(study.description !== undefined && { description: study.description }),
		...(result.notes && { notes: result.notes }),
		runs: { made: countRuns(result), planned },
		...chartOf(result),
		cases: compareCases(result).map(({ name, measures, difference, runs, ...shares }, index) => {
			const { recoveredShare, neverRecoveredShare, notShownShare } = shares
			const { x, y, scenario = { services: {} } } = cases[index]?.case ?? {}
			return {
				name,
				...(x !== undefined && { x }),
				...(y !== undefined && { y }),
				faults: scheduledFaults(scenario),
				measures,
				recoveredShare,
				neverRecoveredShare,
				notShownShare,
				difference,
				runs: selectTimelines(runs, timelines),
			}
		}),
	}
}

function chartOf(result: StudyResult): Pick<StudyJSON, 'chart'> {
	const { study } = result
	if (isGrid(study) || study.curves) return {}
	const { chart: kind = 'requests' } = study
	const { of, groups } = chartSubject(result, study, kind)
	return { chart: { kind, [of]: groups.flat() } }
}

function selectTimelines(runs: readonly SimulationResult[], timelines: Timelines): readonly RunJSON[] {
	// The command line leaves out the steps of runs that it does not show.
	const known = runs.filter(({ timeline }) =>
		Object.values(timeline.clients).some(({ started }) => started.length > 0),
	)
	const selected = timelines === 'all' ? known : timelines === 'first' ? known.slice(0, 1) : []
	return runs.map((run) => {
		const { timeline, ...rest } = run
		return selected.includes(run) ? { ...rest, timeline } : rest
	})
}
