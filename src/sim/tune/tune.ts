/**
 * Finds the smallest change to a policy that survives a scenario. Changes are tried from the smallest up, alone and in pairs. A
 * candidate is dropped at the first run that violates a constraint, so most cost one run. Hill climbing was rejected: survival has a
 * cliff, not a slope, and it would return settings that cannot be explained.
 */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { invalidOption } from '../../core/options/schema.ts'
import { MEASURE_NAMES, MEASURES, type MeasureName } from '../measure/measures.ts'
import { mergeRuns, type Replications } from '../measure/replications.ts'
import type { SimulationResult } from '../measure/result.ts'
import { seedsFor } from '../run/replicate.ts'
import { simulate } from '../run/simulation.ts'
import type { PolicyLayer } from '../scenario/layers.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { count, fields, oneOf } from '../scenario/shape.ts'
import { type Constraints, checkConstraints, findViolation, type Violation } from './constraints.ts'
import { type Move, movesFor } from './moves.ts'

export interface TuneOptions {
	/** What every run must satisfy. */
	readonly constraints: Constraints
	/** The measure that decides between changes of the same size. Default `'goodShare'`. */
	readonly objective?: MeasureName | undefined
	/** Runs per policy, each with the next seed. Default 5. */
	readonly replications?: number | undefined
	/** Maximum number of combined changes, 1 or 2. Default 2. */
	readonly maxChanges?: number | undefined
	/** Maximum number of policies to try. Default 500. */
	readonly maxSteps?: number | undefined
	/** Called for each policy that was tried. */
	readonly onStep?: ((step: TuneStep, count: number) => void) | undefined
}

/** One changed setting. */
export interface TuneChange {
	/** Path in the policy: `[0].retry.maxRetries`; the kind for a layer that is added. */
	readonly path: string
	readonly from: unknown
	readonly to: unknown
}

/** A policy that was tried. */
export interface TuneStep {
	readonly changes: readonly TuneChange[]
	/** The size of the change, as the guide defines it. */
	readonly size: number
	/** The first violated constraint; undefined if all runs satisfied all of them. */
	readonly violation: Violation | undefined
	readonly runs: number
}

/** The result of a search. */
export interface TuneResult {
	/** True if a policy satisfies all constraints. If not, `policy` is unchanged and `steps` shows why. */
	readonly survives: boolean
	/** Empty if the original policy satisfies all constraints. */
	readonly changes: readonly TuneChange[]
	readonly policy: readonly PolicyLayer[]
	/** Runs with the original policy. */
	readonly before: Replications
	/** Runs with the changed policy; undefined if no policy satisfies all constraints. */
	readonly after: Replications | undefined
	readonly steps: readonly TuneStep[]
}

const checkOptions = fields({
	constraints: checkConstraints,
	'objective?': oneOf(...MEASURE_NAMES),
	'replications?': count(1, 1e6),
	'maxChanges?': count(1, 2),
	'maxSteps?': count(1, 1e6),
	'onStep?': (value, path) => {
		if (typeof value !== 'function') invalidOption(path, value, 'a function')
	},
})

interface Candidate {
	readonly moves: readonly Move[]
	readonly size: number
}

/**
 * Searches for the smallest change to a policy that satisfies all constraints in every run.
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
		steps: search.steps,
	}
}

class Search {
	readonly steps: TuneStep[] = []
	readonly #policy: string
	readonly #scenario: Scenario
	readonly #layers: readonly PolicyLayer[]
	readonly #options: TuneOptions
	readonly #seeds: readonly (number | string)[]
	readonly #objective: MeasureName

	constructor(policy: string, scenario: Scenario, options: TuneOptions) {
		checkOptions(options, '')
		this.#objective = options.objective ?? 'goodShare'
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
		return runs.every((run) => findViolation(this.#options.constraints, run) === undefined)
	}

	/** Returns the smallest candidate that survives; of several of the same size, the best by the objective. */
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
			const value = this.#score(runs)
			if (!best || value > best.value) best = { moves: candidate.moves, runs, value }
		}
		return best
	}

	/** Returns the runs, if all of them satisfy the constraints. */
	#try({ moves, size }: Candidate): readonly SimulationResult[] | undefined {
		const runs: SimulationResult[] = []
		let violation: Violation | undefined
		for (const seed of this.#seeds) {
			const run = this.#run(moves, seed)
			runs.push(run)
			violation = findViolation(this.#options.constraints, run)
			if (violation) break
		}
		const step = { changes: changesOf(moves), size, violation, runs: runs.length }
		this.steps.push(step)
		this.#options.onStep?.(step, this.steps.length)
		return violation ? undefined : runs
	}

	#run(moves: readonly Move[], seed: number | string): SimulationResult {
		const policies = { ...this.#scenario.policies, [this.#policy]: applied(this.#layers, moves) }
		return simulate({ ...this.#scenario, seed, policies })
	}

	/** Returns the mean of the objective, signed so that more is better. */
	#score(runs: readonly SimulationResult[]): number {
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
 * Single changes and pairs, by size, without pairs that change the same setting. Added layers come last in a pair, so that the indices
 * of the other change stay valid.
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
			`the name of a policy in the scenario: ${Object.keys(policies).join(', ')}`,
		)
	if (typeof model === 'function')
		throw new InvalidOptionError(`policies.${policy}`, 'a function', 'layers as data')
	return model
}
