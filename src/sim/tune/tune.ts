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
import { overEqualTime } from '../run/study.ts'
import type { PolicyLayer } from '../scenario/layers.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { callback, count, fields, oneOf } from '../scenario/shape.ts'
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
	'onStep?': callback,
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
	checkOptions(options, '')
	const {
		constraints,
		objective = 'goodShare',
		replications = 5,
		maxChanges,
		maxSteps = 500,
		onStep,
	} = options
	const seeds = seedsFor(scenario, replications)
	const world = overEqualTime(scenario)
	const run = (moves: readonly Move[], seed: number | string) =>
		simulate({ ...world, seed, policies: { ...scenario.policies, [policy]: applied(layers, moves) } })
	const steps: TuneStep[] = []
	/** Returns the runs, if all of them satisfy the constraints. */
	const survivingRuns = ({ moves, size }: Candidate): readonly SimulationResult[] | undefined => {
		const runs: SimulationResult[] = []
		let violation: Violation | undefined
		for (const seed of seeds) {
			const result = run(moves, seed)
			runs.push(result)
			violation = findViolation(constraints, result)
			if (violation) break
		}
		const step = { changes: changesOf(moves), size, violation, runs: runs.length }
		steps.push(step)
		onStep?.(step, steps.length)
		return violation ? undefined : runs
	}
	const before = seeds.map((seed) => run([], seed))
	let best: (Candidate & { readonly runs: readonly SimulationResult[] }) | undefined
	if (before.every((result) => !findViolation(constraints, result)))
		best = { moves: [], size: 0, runs: before }
	// The smallest candidate that survives; of several of the same size, the best by the objective.
	else
		for (const candidate of candidates(layers, maxChanges).slice(0, maxSteps)) {
			if (best && candidate.size > best.size) break
			const runs = survivingRuns(candidate)
			if (runs && (!best || score(objective, runs) > score(objective, best.runs)))
				best = { ...candidate, runs }
		}
	const moves = best?.moves ?? []
	return {
		survives: best !== undefined,
		changes: changesOf(moves),
		policy: applied(layers, moves),
		before: mergeRuns(before),
		after: best && mergeRuns(best.runs),
		steps,
	}
}

/** Returns the mean of the objective, signed so that more is better. */
function score(objective: MeasureName, runs: readonly SimulationResult[]): number {
	const { mean, count: known } = mergeRuns(runs).measures[objective]
	if (known === 0) return -Infinity
	return MEASURES[objective].better === 'more' ? mean : -mean
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
