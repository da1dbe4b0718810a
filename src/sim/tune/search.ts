/**
 * Plans a search: which run to make next, given the results so far. It makes no runs itself, so the same
 * search can be driven by a loop in this thread or by many workers. Runs are handed out ahead of need if a
 * worker is idle, but only those count that a search of one run after the other would have made, in its
 * order. So the result does not depend on the number of workers, nor on the order in which their results
 * arrive.
 *
 * It has five phases: the original policies; the candidates from the smallest up, each dropped at its first
 * violation; larger single changes, if one survived, because the smallest change is rarely the best; all
 * seeds of the few that came closest, if none survived; all seeds of all single changes, for the sensitivity.
 *
 * A search may have several scenarios, as those that the log of an incident allows. Every policy then runs in
 * each of them, and a policy survives only if it does in each.
 */
import type { MeasureName } from '../measure/measures.ts'
import { mergeRuns } from '../measure/replications.ts'
import type { SimulationResult } from '../measure/result.ts'
import type { PolicyLayer } from '../scenario/layers.ts'
import { applyChanges, layersOf, type Policies, type TuneChange } from './changes.ts'
import { type Candidate, isValid, listCandidates } from './moves.ts'
import type { TuneSettings } from './options.ts'
import { rankSettings } from './sensitivity.ts'
import { byDistance, type CheckedRun, type Miss, scoreOf, Trial, toMiss } from './trial.ts'
import type {
	BestSingle,
	ConsideredSetting,
	NearestMiss,
	SettingSensitivity,
	TuneResult,
	TuneStep,
} from './tune-result.ts'

interface PlannedRun {
	readonly scenario: number
	readonly seed: number | string
}

/** One run to make: the scenario with these changes and this seed. */
export interface SearchTask extends PlannedRun {
	readonly id: number
	readonly changes: readonly TuneChange[]
}

/** How many candidates may be started before the result of the first is known. Bounds memory. */
const LOOKAHEAD = 64
/** How many of the nearest misses get all seeds. The first run orders candidates well enough for that. */
const FINALISTS = 5
const ORIGINAL: Candidate = { changes: [], size: 0 }

type Phase = 'original' | 'search' | 'singles' | 'nearest' | 'sensitivity' | 'done'

interface Survivor {
	readonly candidate: Candidate
	readonly runs: readonly CheckedRun[]
}

const isSingle = ({ candidate }: Pick<Survivor, 'candidate'>): boolean => candidate.changes.length === 1

const resultsOf = (runs: readonly CheckedRun[]): readonly SimulationResult[] =>
	runs.map(({ result }) => result)

export class Search {
	readonly #names: readonly string[]
	readonly #policies: Policies
	readonly #settings: TuneSettings
	readonly #runs: readonly PlannedRun[]
	readonly #candidates: readonly Candidate[]
	/** The valid single changes, for the sensitivity. */
	readonly #singles: readonly Candidate[]
	/** Index of the next candidate without a trial, and the number of trials in the search so far. */
	#nextCandidate = 0
	#tried = 0
	#phase: Phase = 'original'
	/** The trials of the phase that are not recorded yet, in order. */
	#trials: readonly Trial[]
	readonly #tasks = new Map<number, readonly [trial: Trial, seedIndex: number]>()
	#nextTask = 0
	#before: readonly CheckedRun[] = []
	#best: Survivor | undefined
	readonly #steps: TuneStep[] = []
	readonly #misses: Miss[] = []
	#nearest: Survivor | undefined
	#bestSingle: Survivor | undefined
	#sensitivity: readonly SettingSensitivity[] | undefined

	/** `names` are the policies to change, all given as layers. Every policy that is tried makes these runs, in order. */
	constructor(
		names: readonly string[],
		policies: Policies,
		settings: TuneSettings,
		runs: readonly PlannedRun[],
	) {
		this.#names = names
		this.#policies = policies
		this.#settings = settings
		this.#runs = runs
		this.#candidates = listCandidates(names, policies, settings.maxChanges)
		this.#singles = this.#candidates.filter((one) => one.changes.length === 1 && isValid(one, policies))
		this.#trials = [new Trial(ORIGINAL, runs.length, 'all seeds')]
	}

	/** Returns the next run to make; undefined if none can start before another result arrives, or if the search is done. */
	next(): SearchTask | undefined {
		for (const trial of this.#trials) {
			const index = trial.start()
			if (index !== undefined) return this.#task(trial, index)
		}
		const trial = this.#phase === 'search' && this.#trials.length < LOOKAHEAD ? this.#addTrial() : undefined
		return trial && this.#task(trial, trial.start() ?? 0)
	}

	/** Takes the result of a run. Results that no longer matter are ignored. */
	add({ id }: SearchTask, result: SimulationResult): void {
		const [trial, index] = this.#tasks.get(id) ?? []
		this.#tasks.delete(id)
		if (!trial || index === undefined) return
		trial.add(index, result, this.#settings.constraints, this.#runs[index]?.scenario ?? 0)
		if (this.#phase === 'search') this.#recordSteps()
		else this.#recordPhase()
	}

	get isDone(): boolean {
		return this.#phase === 'done'
	}

	/** How far the search is. Candidates count once; it may end before the total is reached. */
	get progress(): { readonly done: number; readonly total: number } {
		const { maxSteps, sensitivity } = this.#settings
		const runs = this.#runs.length
		const steps = Math.min(maxSteps, this.#candidates.length)
		const effects = sensitivity ? this.#singles.length * runs : 0
		const ended = this.#trials.reduce((sum, trial) => sum + trial.ended, 0)
		const done = {
			original: ended,
			search: runs + this.#steps.length,
			singles: runs + steps,
			nearest: runs + steps,
			sensitivity: runs + steps + ended,
			done: runs + steps + effects,
		}
		return { done: done[this.#phase], total: runs + steps + effects }
	}

	/** Returns the result, also of a search that is not done: the best so far. */
	result(): TuneResult {
		const best = this.#best
		const changes = best?.candidate.changes ?? []
		const policies = this.#changed(changes)
		return {
			survives: best !== undefined,
			changes,
			policies,
			policy: policies[this.#names[0] ?? ''] ?? [],
			before: mergeRuns(resultsOf(this.#before)),
			after: best && mergeRuns(resultsOf(best.runs)),
			nearest: best ? undefined : this.#nearestMiss(),
			bestSingle: this.#bestSingleChange(),
			considered: this.#considered(),
			scenarios: 1 + Math.max(...this.#runs.map(({ scenario }) => scenario)),
			sensitivity: this.#sensitivity,
			steps: [...this.#steps],
		}
	}

	#task(trial: Trial, index: number): SearchTask {
		const id = this.#nextTask++
		this.#tasks.set(id, [trial, index])
		const { scenario, seed } = this.#runs[index] ?? { scenario: 0, seed: index }
		return { id, changes: trial.candidate.changes, scenario, seed }
	}

	#addTrial(): Trial | undefined {
		while (this.#tried < this.#settings.maxSteps) {
			const candidate = this.#candidates[this.#nextCandidate]
			if (!candidate || candidate.size > (this.#best?.candidate.size ?? Infinity)) return undefined
			this.#nextCandidate++
			if (!isValid(candidate, this.#policies)) continue
			this.#tried++
			const trial = new Trial(candidate, this.#runs.length, 'search')
			this.#trials = [...this.#trials, trial]
			return trial
		}
		return undefined
	}

	/** Records the trials of the search, in order, as far as they are decided. */
	#recordSteps(): void {
		const isNeeded = ({ candidate }: Trial) => candidate.size <= (this.#best?.candidate.size ?? Infinity)
		let trial = this.#trials[0] ?? this.#addTrial()
		while (trial && isNeeded(trial)) {
			const runs = trial.outcome
			if (!runs) return
			this.#trials = this.#trials.slice(1)
			this.#recordStep(trial.candidate, runs)
			trial = this.#trials[0] ?? this.#addTrial()
		}
		this.#endSearch()
	}

	/** The smallest candidate that survives is the best; of several of the same size, the best by the objective. */
	#recordStep(candidate: Candidate, runs: readonly CheckedRun[]): void {
		const { objective } = this.#settings
		const miss = toMiss(candidate, runs, objective)
		if (miss) this.#misses.push(miss)
		else if (!this.#best || scoreOf(objective, runs) > scoreOf(objective, this.#best.runs))
			this.#best = { candidate, runs }
		this.#addStep(candidate, runs)
	}

	#addStep(candidate: Candidate, runs: readonly CheckedRun[]): void {
		const violation = runs.at(-1)?.violations[0]
		const step: TuneStep = { ...candidate, violation, runs: runs.length }
		this.#steps.push(step)
		this.#settings.onStep?.(step, this.#steps.length)
	}

	#recordPhase(): void {
		const tried = this.#trials.flatMap(({ candidate, outcome: runs }) => (runs ? [{ candidate, runs }] : []))
		if (tried.length < this.#trials.length) return
		if (this.#phase === 'original') {
			this.#before = tried[0]?.runs ?? []
			if (this.#before.every(({ violations }) => violations.length === 0)) {
				this.#best = { candidate: ORIGINAL, runs: this.#before }
				this.#startSensitivity()
			} else {
				this.#startPhase('search', [])
				this.#recordSteps()
			}
		} else if (this.#phase === 'singles') {
			for (const { candidate, runs } of tried) this.#addStep(candidate, runs)
			const survivors = tried.filter(({ runs }) => runs.every(({ violations }) => violations.length === 0))
			this.#bestSingle = this.#bestOf([...(this.#best ? [this.#best] : []), ...survivors].filter(isSingle))
			this.#startSensitivity()
		} else if (this.#phase === 'nearest') {
			this.#nearest = this.#nearestOf([{ candidate: ORIGINAL, runs: this.#before }, ...tried])
			this.#bestSingle = this.#nearestOf(tried.filter(isSingle))
			this.#startSensitivity()
		} else if (this.#phase === 'sensitivity') {
			const alternatives = tried.flatMap(({ candidate: { changes }, runs }) =>
				changes.map((change) => ({ change, runs: resultsOf(runs) })),
			)
			const { constraints, objective } = this.#settings
			const measures = new Set([...(Object.keys(constraints) as MeasureName[]), objective])
			this.#sensitivity = rankSettings(resultsOf(this.#before), alternatives, [...measures])
			this.#startPhase('done', [])
		}
	}

	#endSearch(): void {
		const { size } = this.#best?.candidate ?? ORIGINAL
		if (this.#best) {
			const larger = this.#singles.filter((one) => one.size > size)
			const left = Math.max(0, this.#settings.maxSteps - this.#tried)
			this.#startPhase('singles', larger.slice(0, left))
			this.#recordPhase()
		} else {
			const nearest = this.#misses.toSorted(byDistance)
			const single = nearest.find(isSingle)
			const finalists = nearest.slice(0, FINALISTS)
			if (single && !finalists.includes(single)) finalists.push(single)
			this.#startPhase(
				'nearest',
				finalists.map(({ candidate }) => candidate),
			)
		}
	}

	#startSensitivity(): void {
		if (this.#settings.sensitivity) this.#startPhase('sensitivity', this.#singles)
		else this.#startPhase('done', [])
	}

	#startPhase(phase: Phase, candidates: readonly Candidate[]): void {
		this.#phase = phase
		this.#tasks.clear()
		const kind = phase === 'singles' ? 'search' : 'all seeds'
		this.#trials = candidates.map((candidate) => new Trial(candidate, this.#runs.length, kind))
	}

	/** Returns the best by the objective; of equal ones the first, which is the smallest. */
	#bestOf(survivors: readonly Survivor[]): Survivor | undefined {
		const score = ({ runs }: Survivor) => scoreOf(this.#settings.objective, runs)
		return survivors.reduce<Survivor | undefined>(
			(best, one) => (best && score(best) >= score(one) ? best : one),
			undefined,
		)
	}

	#bestSingleChange(): BestSingle | undefined {
		const { candidate, runs } = this.#bestSingle ?? {}
		const [change] = candidate?.changes ?? []
		if (!candidate || !runs || !change) return undefined
		return {
			change,
			size: candidate.size,
			policies: this.#changed(candidate.changes),
			violation: toMiss(candidate, runs, this.#settings.objective)?.violation,
			after: mergeRuns(resultsOf(runs)),
		}
	}

	#considered(): readonly ConsideredSetting[] {
		const changes = this.#singles.flatMap((one) => one.changes)
		return [...new Set(changes.map(({ path }) => path))].map((path) => {
			const own = changes.filter((change) => change.path === path)
			return { path, from: own[0]?.from, to: own.map(({ to }) => to) }
		})
	}

	#nearestOf(tried: readonly Survivor[]): Survivor | undefined {
		const misses = tried.map(({ candidate, runs }) => toMiss(candidate, runs, this.#settings.objective))
		const [nearest] = misses.filter((miss) => miss !== undefined).sort(byDistance)
		return tried.find(({ candidate }) => candidate === nearest?.candidate)
	}

	/** The nearest miss; of a search that was interrupted, by the runs so far. */
	#nearestMiss(): NearestMiss | undefined {
		const { objective } = this.#settings
		const found = this.#nearest
		const original = toMiss(ORIGINAL, this.#before, objective)
		const miss = found
			? toMiss(found.candidate, found.runs, objective)
			: [...(original ? [original] : []), ...this.#misses].sort(byDistance)[0]
		if (!miss) return undefined
		const { candidate, violation } = miss
		const policies = this.#changed(candidate.changes)
		return { ...candidate, policies, violation, after: found && mergeRuns(resultsOf(found.runs)) }
	}

	#changed(changes: readonly TuneChange[]): Readonly<Record<string, readonly PolicyLayer[]>> {
		const changed = applyChanges(this.#policies, changes)
		return Object.fromEntries(this.#names.map((name) => [name, layersOf(name, changed)]))
	}
}
