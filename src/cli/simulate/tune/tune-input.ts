/**
 * What `--tune` searches: one scenario, the alternatives that the events of an incident allow, the policies that
 * are data, and the constraints. A study with several variants is rejected instead of searched variant by
 * variant: the answer would be a different policy for each.
 *
 * The constraints come from `--assert`. Without any, a search looks for what most services need: recovery
 * from the fault, and retries that at most double the load. They are printed, because a result is worth as
 * much as what it was checked against.
 */
import { scheduledFaults } from '../../../sim/model/fault-schedule.ts'
import { isGrid, listCases, type Study, type StudyCase } from '../../../sim/run/study.ts'
import type { Scenario } from '../../../sim/scenario/scenario.ts'
import { LIMIT_OPERATORS, type MeasureLimit, type TuneConstraints } from '../../../sim/tune/constraints.ts'
import { usageError } from '../../errors.ts'
import { unknownName } from '../../parse-arguments.ts'
import type { Assertion } from '../assertions.ts'
import { policyOf } from '../replay-ranges.ts'
import { variantNames } from '../study-source.ts'

/** A case to search, with its index in the study. */
export interface TuneTarget extends StudyCase {
	readonly index: number
}

/** Returns the scenario to search, and after it the alternatives of an incident. */
export function findTargets(study: Study, name: string): readonly [TuneTarget, ...TuneTarget[]] {
	const cases = isGrid(study) ? [] : listCases(study).map((one, index) => ({ ...one, index }))
	const [only, ...others] = cases.filter((one) => policyOf(one.name) === one.name)
	if (isGrid(study)) throw usageError(`--tune requires a scenario, but ${name} is a grid.`)
	if (!only || others.length > 0)
		throw usageError(`--tune requires one scenario, but ${name} has ${others.length + 1} variants.`, {
			hint: `Select one with --variant: ${variantNames(study).join(', ')}.`,
		})
	return [only, ...cases.filter((one) => one !== only)]
}

/** Returns the given policies, or all in use that are layers: functions cannot be changed. */
export function findPolicies(scenario: Scenario, given: readonly string[]): readonly string[] {
	const { policies = {}, clients, services } = scenario
	const hops = Object.values(services).flatMap((service) =>
		service.kind === 'optimistic-lock' ? [] : (service.dependsOn ?? []),
	)
	const used = new Set([...Object.values(clients), ...hops].map(({ policy }) => policy))
	const layered = Object.keys(policies).filter((name) => typeof policies[name] !== 'function')
	const missing = given.find((name) => !layered.includes(name))
	if (missing !== undefined) throw unknownName('--tune-policy', missing, layered)
	const names = given.length > 0 ? given : layered.filter((name) => used.has(name))
	if (names.length === 0)
		throw usageError('--tune requires a policy that is given as layers and that a client uses.', {
			hint: 'A policy that is a function cannot be changed. Give its layers as data: [{ "retry": {} }].',
		})
	return names
}

type LimitName = keyof MeasureLimit
const LIMIT_NAMES = Object.keys(LIMIT_OPERATORS) as LimitName[]
const isUpper = (name: LimitName): boolean => name === 'atMost' || name === 'below'

/** Returns the constraints of assertions. Of two limits on the same side, the stricter counts. */
export function toConstraints(assertions: readonly Assertion[]): TuneConstraints {
	const constraints: Partial<Record<keyof TuneConstraints, MeasureLimit>> = {}
	for (const { measure, comparison, bound } of assertions)
		for (const name of LIMIT_NAMES.filter((one) => LIMIT_OPERATORS[one] === comparison)) {
			const known = constraints[measure]?.[name] ?? bound
			const stricter = isUpper(name) ? Math.min(known, bound) : Math.max(known, bound)
			constraints[measure] = { ...constraints[measure], [name]: stricter }
		}
	return constraints
}

/** Returns the constraints of a search without `--assert`. */
export function defaultConstraints(scenarios: readonly Scenario[]): TuneConstraints {
	const hasFaults = scenarios.every((one) => scheduledFaults(one).length > 0)
	return {
		// Any time: a run that never recovers has no value.
		...(hasFaults ? { recoveredAfterMs: { atLeast: 0 } } : { goodShare: { atLeast: 0.99 } }),
		amplification: { atMost: 2 },
	}
}

/** Formats constraints as `--assert` takes them; "recovers" for a recovery at any time. */
export const constraintTexts = (constraints: TuneConstraints): readonly string[] =>
	Object.entries(constraints).map(([measure, limit = {}]) =>
		measure === 'recoveredAfterMs' && limit.atLeast === 0 && Object.keys(limit).length === 1
			? 'recovers'
			: limitTexts(limit)
					.map((text) => `${measure}${text}`)
					.join(' and '),
	)

/** Formats the limits of a measure: `<=1.5`. A percentage divided by 100 has digits that were not written. */
export const limitTexts = (limit: MeasureLimit): readonly string[] =>
	LIMIT_NAMES.flatMap((name) => {
		const bound = limit[name]
		return bound === undefined ? [] : [`${LIMIT_OPERATORS[name]}${Number(bound.toPrecision(12))}`]
	})
