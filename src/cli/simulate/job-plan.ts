/**
 * Splits a study into jobs for threads. A job has several seeds of one case while much is left, so that
 * threads rarely wait for the next job; at the end a job is a single run, so that no thread is idle while
 * another has many left. The split does not affect the result, which is ordered by case and seed.
 */
import type { Timelines } from '../../sim/report/study-json.ts'
import { DEFAULT_REPLICATIONS, seedsFor } from '../../sim/run/replicate.ts'
import { listCases, type Study } from '../../sim/run/study.ts'
import type { TuneChange } from '../../sim/tune/changes.ts'
import type { StudyRequest } from './study-source.ts'

export type Seed = number | string

/** What each thread receives once. */
export interface WorkerInput {
	readonly request: StudyRequest
	readonly maxEvents: number | undefined
	/** Whether all runs keep their timelines, also where the report shows only measures. */
	readonly allTimelines: boolean
}

export interface JobPlan extends WorkerInput {
	/** The seeds of each case. */
	readonly seeds: readonly (readonly Seed[])[]
}

export interface Job {
	/** Index of the case. */
	readonly caseIndex: number
	/** Index of the first seed within the case. */
	readonly firstRun: number
	readonly seeds: readonly Seed[]
	/** Changes to the policies of the case, for a search. Its results have no timelines. */
	readonly changes?: readonly TuneChange[]
}

/** Posted to a thread that has no more work. */
export const END = null

export interface RunOptions {
	readonly seed: Seed | undefined
	readonly replications: number | undefined
	readonly maxEvents: number | undefined
	readonly timelines?: Timelines | undefined
}

export function planJobs(study: Study, request: StudyRequest, options: RunOptions): JobPlan {
	const { seed, maxEvents, timelines, replications = study.replications ?? DEFAULT_REPLICATIONS } = options
	const seeds = listCases(study).map(({ scenario }) => {
		const first = seed ?? scenario.seed ?? 1
		// A single run uses exactly the given seed, so that a run can be repeated by its seed.
		return replications === 1 ? [first] : seedsFor({ ...scenario, seed: first }, replications)
	})
	return { request, maxEvents, allTimelines: timelines === 'all', seeds }
}

export const countRuns = ({ seeds }: JobPlan): number => seeds.reduce((sum, list) => sum + list.length, 0)

const JOBS_PER_THREAD = 8
const MAX_JOB_SIZE = 32

export function* splitJobs(plan: JobPlan, threads: number): Generator<Job, undefined> {
	let left = countRuns(plan)
	for (const [caseIndex, seeds] of plan.seeds.entries())
		for (let firstRun = 0; firstRun < seeds.length; ) {
			const size = Math.min(MAX_JOB_SIZE, Math.ceil(left / (threads * JOBS_PER_THREAD)))
			const some = seeds.slice(firstRun, firstRun + size)
			yield { caseIndex, firstRun, seeds: some }
			firstRun += some.length
			left -= some.length
		}
}
