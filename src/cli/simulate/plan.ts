/**
 * What is to be run, cut into jobs. Seeds of one case go together while there is much to do, so that threads seldom wait for
 * their next job; towards the end a job is a single run, so that no thread sits idle while another has a heap left. Nothing
 * about the cut can be seen in the result, which is put together by case and seed.
 */
import { DEFAULT_REPLICATIONS, seedsFor } from '../../sim/run/replicate.ts'
import { listCases, type Study } from '../../sim/run/study.ts'
import type { Question } from './source.ts'

export type Seed = number | string

/** What all threads are told once. */
export interface Brief {
	readonly question: Question
	readonly maxEvents: number | undefined
}

/** What runs, with which seeds. */
export interface Plan extends Brief {
	/** By case, the seeds of its runs. */
	readonly seeds: readonly (readonly Seed[])[]
}

/** Some runs of one case. */
export interface Job {
	/** The number of the case. */
	readonly index: number
	/** Where these seeds begin among those of the case. */
	readonly from: number
	readonly seeds: readonly Seed[]
}

/** Posted to a thread that has nothing left to do. */
export const END = null

export interface Wishes {
	readonly seed: Seed | undefined
	readonly replications: number | undefined
	readonly maxEvents: number | undefined
}

export function planOf(study: Study, question: Question, wishes: Wishes): Plan {
	const { seed, maxEvents, replications = study.replications ?? DEFAULT_REPLICATIONS } = wishes
	const seeds = listCases(study).map(({ scenario }) => {
		const first = seed ?? scenario.seed ?? 1
		// A single run has the very seed that was asked for, so that a run of which only the seed was told can be repeated.
		return replications === 1 ? [first] : seedsFor({ ...scenario, seed: first }, replications)
	})
	return { question, maxEvents, seeds }
}

export const runsIn = ({ seeds }: Plan): number => seeds.reduce((sum, list) => sum + list.length, 0)

/** So many jobs for each thread, as long as they are not too large. */
const JOBS_EACH = 8
const LARGEST = 32

export function* jobsOf(plan: Plan, threads: number): Generator<Job, undefined> {
	let left = runsIn(plan)
	for (const [index, seeds] of plan.seeds.entries())
		for (let from = 0; from < seeds.length; ) {
			const size = Math.min(LARGEST, Math.ceil(left / (threads * JOBS_EACH)))
			const some = seeds.slice(from, from + size)
			yield { index, from, seeds: some }
			from += some.length
			left -= some.length
		}
}
