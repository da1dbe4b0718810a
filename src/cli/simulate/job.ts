/**
 * Some runs, one after the other, and what is told on the way. A generator of reports and not a function that posts them: so it
 * knows nothing of threads, and a test reads what would have been posted. Time is let pass in slices, for a run that takes
 * minutes must tell how far it has come, and what it has found so far, in case somebody presses Ctrl-C.
 */
import { inspect } from 'node:util'
import { hasFunction } from '../../sim/kernel/suppress-stacks.ts'
import type { SimulationResult, Timeline } from '../../sim/measure/result.ts'
import { Simulation } from '../../sim/run/simulation.ts'
import { isGrid, type Study, type StudyCase } from '../../sim/run/study.ts'
import type { Scenario } from '../../sim/scenario/scenario.ts'
import type { Job, Seed } from './plan.ts'

/** One run, by its place among the seeds of the case. */
interface Run {
	readonly place: number
	readonly result: SimulationResult
}

/** What a thread tells about its job. */
export interface Report {
	/** Runs that have ended since the last report. */
	readonly ended: readonly Run[]
	/** The one that goes on, and how much of its time is over, 0 to 1. */
	readonly current?: Run & { readonly share: number }
	/** What ended the job before its time. */
	readonly failed?: RunFailure
	/** Is this the last report on the job? */
	readonly isOver: boolean
}

/** An error as data: what is thrown need not be an Error, and of one only some fields would arrive in another thread. */
export interface RunFailure {
	readonly seed: Seed
	readonly message: string
	readonly code: string | undefined
	readonly stack: string | undefined
}

export interface JobWorld {
	readonly cases: readonly StudyCase[]
	readonly maxEvents: number | undefined
	/** Are timelines wanted? They are most of what would have to be posted. */
	readonly hasTimelines: boolean
	/** The numbers of the cases that were tried in this thread. */
	readonly tried: Set<number>
	/** Milliseconds of real time. */
	now(): number
}

/** Maps and curves are made of figures; only what is drawn over time needs to be told over time. */
export const needsTimelines = (study: Study): boolean => !isGrid(study) && study.curves === undefined

/** Between reports, in real time. */
const TELL_EVERY_MS = 200
/** A slice of virtual time should take about so long in real time. */
const SLICE_MS = 20
const FIRST_SLICE = 100

export function* reportsOf(job: Job, world: JobWorld): Generator<Report, void> {
	const { cases, maxEvents, hasTimelines, now, tried } = world
	const scenario = cases[job.index]?.scenario
	let ended: Run[] = []
	let toldAt = now()
	const told = (): readonly Run[] => {
		const runs = ended
		ended = []
		toldAt = now()
		return runs
	}
	const resultOf = (simulation: Simulation): SimulationResult =>
		hasTimelines ? simulation.result() : withoutTimeline(simulation.result())

	for (const [offset, seed] of job.seeds.entries()) {
		const place = job.from + offset
		try {
			if (!scenario) throw new Error(`there is no case ${job.index} in the study any more`)
			const limit = maxEvents === undefined ? {} : { maxEvents }
			if (!tried.has(job.index)) tryOut({ ...scenario, ...limit, seed })
			tried.add(job.index)
			const simulation = new Simulation({ ...scenario, ...limit, seed })
			const { duration = Infinity } = scenario
			for (const reachedMs of slices(simulation, duration, now)) {
				if (now() - toldAt < TELL_EVERY_MS) continue
				const current = { place, share: reachedMs / duration, result: resultOf(simulation) }
				yield { ended: told(), current, isOver: false }
			}
			ended.push({ place, result: resultOf(simulation) })
		} catch (error) {
			yield { ended: told(), failed: failureOf(error, seed), isOver: true }
			return
		}
	}
	yield { ended: told(), isOver: true }
}

/**
 * Builds a case with functions once more than it is run. A policy that is the same in two runs is refused in the second one, and
 * whether a thread comes to a second one depends on how many threads there are.
 */
function tryOut(scenario: Scenario): void {
	if (hasFunction(scenario)) new Simulation(scenario)
}

/** Lets a run go on to its end, and says how far it is after each slice. */
function* slices(simulation: Simulation, duration: number, now: () => number): Generator<number, void> {
	let [reached, slice, at] = [0, FIRST_SLICE, now()]
	while (!simulation.advance(reached + slice)) {
		reached += slice
		yield reached
		const took = now() - at
		at += took
		if (took > SLICE_MS * 2) slice = Math.max(1, slice / 2)
		else if (took < SLICE_MS / 2) slice = Math.min(slice * 2, longest(duration, reached))
	}
}

/** A quiet hour may be followed by a storm, of which one slice must not take minutes. */
const longest = (duration: number, reached: number): number =>
	Math.max(FIRST_SLICE, (duration === Infinity ? reached : duration) / 100)

/** The requests of services stay, for the peak is read off them. */
function withoutTimeline(result: SimulationResult): SimulationResult {
	const { stepMs, clients, services } = result.timeline
	const timeline: Timeline = {
		stepMs,
		clients: mapped(clients, () => ({ started: [], startedGood: [], startedBad: [], good: [], bad: [] })),
		services: mapped(services, ({ requests }) => ({
			requests,
			...{ useful: [], wasted: [], rejected: [], queue: [] },
		})),
	}
	return { ...result, timeline }
}

const mapped = <T, U>(by: Readonly<Record<string, T>>, map: (value: T) => U): Readonly<Record<string, U>> =>
	Object.fromEntries(Object.entries(by).map(([name, value]) => [name, map(value)]))

function failureOf(error: unknown, seed: Seed): RunFailure {
	if (!(error instanceof Error))
		return { seed, message: `threw ${inspect(error)}`, code: undefined, stack: undefined }
	const { name, message, stack } = error
	const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
	return { seed, message: message || name, code, stack }
}
