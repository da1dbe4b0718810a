/**
 * Finds the smallest change to a policy that survives a scenario. Changes are tried from the smallest up, alone and then in
 * pairs; one is given up at the first run that breaks a constraint, so that most cost one run. A search that climbs from better to
 * better was rejected: survival has a cliff, not a slope, and it would return settings that nobody can explain.
 */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { checkNames, checkRange, invalidOption } from '../../core/options/schema.ts'
import { MEASURES, type MeasureName } from '../measure/measures.ts'
import type { SimulationResult } from '../measure/result.ts'
import { mergeRuns, type Replications, seedsFor } from '../run/replicate.ts'
import { simulate } from '../run/simulate.ts'
import type { PolicyLayer } from '../scenario/layers.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { count } from '../scenario/shape.ts'
import { type Constraints, checkConstraints, checkMeasure, type Violation, violated } from './constraints.ts'
import { type Move, movesFor } from './moves.ts'

export interface TuneOptions {
	/** What every run must achieve. */
	readonly constraints: Constraints
	/** Which figure decides between changes of the same size. Default `'goodShare'`. */
	readonly objective?: MeasureName | undefined
	/** Runs, each with the next seed. Default 5. */
	readonly replications?: number | undefined
	/** At most so many changes at once, 1 or 2. Default 2. */
	readonly maxChanges?: number | undefined
	/** Gives up after so many policies. Default 500. */
	readonly maxSteps?: number | undefined
	/** Told of each policy that was tried. */
	readonly onStep?: ((tried: TuneStep, count: number) => void) | undefined
}

/** One changed setting. */
export interface TuneChange {
	/** Where in the policy: `[0].retry.maxRetries`; a layer that is added is named by its kind. */
	readonly path: string
	readonly from: unknown
	readonly to: unknown
}

/** A policy that was tried, and why it was not taken. */
export interface TuneStep {
	readonly changes: readonly TuneChange[]
	/** How much of a change it is; what that means stands in the guide. */
	readonly size: number
	/** The first constraint that a run broke; undefined when all runs kept all of them. */
	readonly violation: Violation | undefined
	readonly runs: number
}

/** What the search found. */
export interface TuneResult {
	/** Does it survive? When not, `policy` is what it was, and `tried` shows why. */
	readonly survives: boolean
	/** None when it survives as it is. */
	readonly changes: readonly TuneChange[]
	readonly policy: readonly PolicyLayer[]
	/** As it was: how it fails. And as it is now; undefined when nothing survives. */
	readonly before: Replications
	readonly after: Replications | undefined
	readonly steps: readonly TuneStep[]
}

interface Candidate {
	readonly moves: readonly Move[]
	readonly size: number
}

/**
 * Searches a policy's settings for the smallest change that keeps all constraints in every run.
 *
 * @example
 * const { changes, survives } = tune('client', scenario, {
 *   constraints: { recoveredAfterMs: { atMost: 10_000 }, amplification: { atMost: 1.5 } },
 * })
 */
export function tune(policy: string, scenario: Scenario, options: TuneOptions): TuneResult {
	const layers = layersOf(policy, scenario)
	const search = new Search(policy, scenario, options)
	const before = search.runs([])
	const found = search.holds(before)
		? { moves: [], runs: before }
		: search.smallest(candidates(layers, options.maxChanges))
	const moves = found?.moves ?? []
	return {
		survives: found !== undefined,
		changes: changesOf(moves),
		policy: applied(layers, moves),
		before: mergeRuns(before),
		after: found && mergeRuns(found.runs),
		steps: search.tried,
	}
}

class Search {
	readonly tried: TuneStep[] = []
	readonly #policy: string
	readonly #scenario: Scenario
	readonly #layers: readonly PolicyLayer[]
	readonly #options: TuneOptions
	readonly #seeds: readonly (number | string)[]
	readonly #objective: MeasureName

	constructor(policy: string, scenario: Scenario, options: TuneOptions) {
		checkNames(options, {
			constraints: 'any',
			objective: 'any',
			replications: 'any',
			maxChanges: 'any',
			maxSteps: 'any',
			onStep: 'any',
		})
		checkConstraints(options.constraints)
		count(1, 2)(options.maxChanges ?? 2, 'maxChanges')
		checkRange('maxSteps', options.maxSteps ?? 500, 1, 1e6)
		this.#objective = options.objective ?? 'goodShare'
		checkMeasure('objective', this.#objective)
		this.#policy = policy
		this.#scenario = scenario
		this.#layers = layersOf(policy, scenario)
		this.#options = options
		this.#seeds = seedsFor(scenario, options.replications ?? 5)
	}

	runs(moves: readonly Move[]): readonly SimulationResult[] {
		return this.#seeds.map((seed) => this.#run(moves, seed))
	}

	holds(runs: readonly SimulationResult[]): boolean {
		return runs.every((run) => violated(this.#options.constraints, run) === undefined)
	}

	/** Of the smallest candidates that survive, the one that is best by the objective. */
	smallest(
		all: readonly Candidate[],
	): { moves: readonly Move[]; runs: readonly SimulationResult[] } | undefined {
		let best: { moves: readonly Move[]; runs: readonly SimulationResult[]; value: number } | undefined
		let size = Infinity
		for (const candidate of all.slice(0, this.#options.maxSteps ?? 500)) {
			if (candidate.size > size) break
			const runs = this.#try(candidate)
			if (!runs) continue
			size = candidate.size
			const value = this.#worth(runs)
			if (!best || value > best.value) best = { moves: candidate.moves, runs, value }
		}
		return best
	}

	/** Its runs, if all of them keep the constraints. */
	#try({ moves, size }: Candidate): readonly SimulationResult[] | undefined {
		const runs: SimulationResult[] = []
		let violation: Violation | undefined
		for (const seed of this.#seeds) {
			const run = this.#run(moves, seed)
			runs.push(run)
			violation = violated(this.#options.constraints, run)
			if (violation) break
		}
		const tried = { changes: changesOf(moves), size, violation, runs: runs.length }
		this.tried.push(tried)
		this.#options.onStep?.(tried, this.tried.length)
		return violation ? undefined : runs
	}

	#run(moves: readonly Move[], seed: number | string): SimulationResult {
		const policies = { ...this.#scenario.policies, [this.#policy]: applied(this.#layers, moves) }
		return simulate({ ...this.#scenario, seed, policies })
	}

	/** The more, the better. */
	#worth(runs: readonly SimulationResult[]): number {
		const { better } = MEASURES[this.#objective]
		const { mean, count } = mergeRuns(runs).measures[this.#objective]
		if (count === 0) return -Infinity
		return better === 'more' ? mean : -mean
	}
}

const applied = (layers: readonly PolicyLayer[], moves: readonly Move[]): readonly PolicyLayer[] =>
	moves.reduce((changed, move) => move.apply(changed), layers)

const changesOf = (moves: readonly Move[]): readonly TuneChange[] =>
	moves.map(({ path, from, to }) => ({ path, from, to }))

/**
 * One change, and pairs, by size; two of the same setting are none. Moves that add a layer come after all others, so that the
 * places of the others still hold when they are applied.
 */
function candidates(layers: readonly PolicyLayer[], maxChanges = 2): readonly Candidate[] {
	const moves = movesFor(layers)
	const single = moves.map((move) => ({ moves: [move], size: move.size }))
	const pairs = moves.flatMap((first, index) =>
		moves
			.slice(index + 1)
			.filter((second) => second.path !== first.path)
			.map((second) => ({ moves: [first, second], size: first.size + second.size })),
	)
	return [...single, ...(maxChanges > 1 ? pairs : [])].sort(
		(a, b) => a.size - b.size || a.moves.length - b.moves.length,
	)
}

function layersOf(policy: string, { policies = {} }: Scenario): readonly PolicyLayer[] {
	const model = Object.hasOwn(policies, policy) ? policies[policy] : undefined
	if (model === undefined)
		invalidOption(
			'policy',
			policy,
			`the name of one of the scenario's policies: ${Object.keys(policies).join(', ')}`,
		)
	if (typeof model === 'function')
		throw new InvalidOptionError(
			`policies.${policy}`,
			'a function',
			'layers as data, which a search can change',
		)
	return model
}
