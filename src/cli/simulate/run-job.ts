/**
 * Runs the simulations of a job and reports them. It is a generator of reports instead of a function that
 * posts them, so it needs no threads and tests can read its reports. A simulation advances in slices of
 * virtual time, because a run of minutes must report its progress and, for Ctrl-C, its result so far.
 */
import { inspect } from 'node:util'
import { hasFunction } from '../../sim/kernel/suppress-stacks.ts'
import type { SimulationResult, Timeline } from '../../sim/measure/result.ts'
import { Simulation } from '../../sim/run/simulation.ts'
import { isGrid, type Study, type StudyCase } from '../../sim/run/study.ts'
import type { Scenario } from '../../sim/scenario/scenario.ts'
import { applyChanges } from '../../sim/tune/changes.ts'
import type { Job, Seed } from './job-plan.ts'

export interface Run {
	/** Index of the seed within the case. */
	readonly runIndex: number
	readonly result: SimulationResult
}

export interface JobReport {
	/** Runs that ended since the last report. */
	readonly ended: readonly Run[]
	/** The current run, and the share of its durationMs that has passed, 0 to 1. */
	readonly current?: Run & { readonly share: number }
	readonly failure?: RunFailure
	readonly isLast: boolean
}

/** An error as data: structured clone keeps only some fields of an Error, and any value can be thrown. */
export interface RunFailure {
	readonly seed: Seed
	readonly message: string
	readonly code: string | undefined
	readonly stack: string | undefined
}

export interface JobContext {
	readonly cases: readonly StudyCase[]
	readonly maxEvents: number | undefined
	/** Whether all results have timelines, the largest part of a report. The first of a case always has. */
	readonly keepsTimelines: boolean
	/** Indices of the cases that this thread has built before. */
	readonly triedCases: Set<number>
	/** Real time in milliseconds. */
	now(): number
}

/** Returns whether the chart of a study is drawn over time. Grids and curves need only measures. */
export const needsTimelines = (study: Study): boolean => !isGrid(study) && study.curves === undefined

const REPORT_INTERVAL_MS = 200
/** Target for the real time of one slice. */
const SLICE_MS = 20
/** Virtual time of the first slice. */
const FIRST_SLICE = 100

export function* runJob(job: Job, context: JobContext): Generator<JobReport, void> {
	const { cases, maxEvents, keepsTimelines, now, triedCases } = context
	const scenario = scenarioOf(job, cases)
	let ended: Run[] = []
	let reportedAt = now()
	const takeEnded = (): readonly Run[] => {
		const runs = ended
		ended = []
		reportedAt = now()
		return runs
	}
	const readResult = (simulation: Simulation, runIndex: number): SimulationResult =>
		(keepsTimelines || runIndex === 0) && !job.changes
			? simulation.result()
			: withoutTimeline(simulation.result())

	for (const [offset, seed] of job.seeds.entries()) {
		const runIndex = job.firstRun + offset
		try {
			if (!scenario) throw new Error(`case ${job.caseIndex} does not exist in the study`)
			const limit = maxEvents === undefined ? {} : { maxEvents }
			if (!triedCases.has(job.caseIndex)) tryFunctions({ ...scenario, ...limit, seed })
			triedCases.add(job.caseIndex)
			const simulation = new Simulation({ ...scenario, ...limit, seed })
			const { durationMs = Infinity } = scenario
			for (const reachedMs of advanceInSlices(simulation, durationMs, now)) {
				if (now() - reportedAt < REPORT_INTERVAL_MS) continue
				const current = { runIndex, share: reachedMs / durationMs, result: readResult(simulation, runIndex) }
				yield { ended: takeEnded(), current, isLast: false }
			}
			ended.push({ runIndex, result: readResult(simulation, runIndex) })
		} catch (error) {
			yield { ended: takeEnded(), failure: toRunFailure(error, seed), isLast: true }
			return
		}
	}
	yield { ended: takeEnded(), isLast: true }
}

function scenarioOf({ caseIndex, changes }: Job, cases: readonly StudyCase[]): Scenario | undefined {
	const scenario = cases[caseIndex]?.scenario
	return scenario && changes ? { ...scenario, policies: applyChanges(scenario.policies, changes) } : scenario
}

/**
 * Builds a scenario with functions once before its first run. A policy instance that is used in two runs is
 * rejected in the second; without this, the number of threads would decide whether a thread reaches a second
 * run.
 */
function tryFunctions(scenario: Scenario): void {
	if (hasFunction(scenario)) new Simulation(scenario)
}

/** Runs a simulation to its end, and yields the virtual time after each slice. */
function* advanceInSlices(
	simulation: Simulation,
	durationMs: number,
	now: () => number,
): Generator<number, void> {
	let [reached, slice, at] = [0, FIRST_SLICE, now()]
	while (!simulation.advance(reached + slice)) {
		reached += slice
		yield reached
		const took = now() - at
		at += took
		if (took > SLICE_MS * 2) slice = Math.max(1, slice / 2)
		else if (took < SLICE_MS / 2) slice = Math.min(slice * 2, maxSlice(durationMs, reached))
	}
}

/** Load can rise suddenly after a quiet hour, and one slice must not take minutes then. */
const maxSlice = (durationMs: number, reached: number): number =>
	Math.max(FIRST_SLICE, (durationMs === Infinity ? reached : durationMs) / 100)

/** Keeps the requests of services because the peak is computed from them. */
function withoutTimeline(result: SimulationResult): SimulationResult {
	const { stepMs, clients, services } = result.timeline
	const none = { started: [], startedGood: [], startedBad: [], good: [], bad: [] }
	const onlyRequests = Object.entries(services).map(([name, { requests }]) => {
		return [name, { requests, useful: [], wasted: [], rejected: [], queue: [] }] as const
	})
	const timeline: Timeline = {
		stepMs,
		clients: Object.fromEntries(Object.keys(clients).map((name) => [name, none])),
		services: Object.fromEntries(onlyRequests),
	}
	return { ...result, timeline }
}

function toRunFailure(error: unknown, seed: Seed): RunFailure {
	if (!(error instanceof Error))
		return { seed, message: `threw ${inspect(error)}`, code: undefined, stack: undefined }
	const { name, message, stack } = error
	const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
	return { seed, message: message || name, code, stack }
}
