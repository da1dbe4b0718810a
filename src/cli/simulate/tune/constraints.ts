/**
 * The constraints of a search, from `--assert`. Without any, a search looks for what most services need: recovery from the fault, and
 * retries that at most double the load. They are printed, because a result is worth as much as what it was checked against.
 */
import { faultsOf } from '../../../sim/model/fault-schedule.ts'
import type { Scenario } from '../../../sim/scenario/scenario.ts'
import { LIMIT_OPERATORS, type MeasureLimit, type TuneConstraints } from '../../../sim/tune/constraints.ts'
import type { Assertion } from '../assertions.ts'

type LimitName = keyof MeasureLimit
const LIMIT_NAMES = Object.keys(LIMIT_OPERATORS) as LimitName[]
const isUpper = (name: LimitName): boolean => name === 'atMost' || name === 'below'

/** Returns the constraints that assertions describe. Of two limits on the same side, both must hold, so the stricter counts. */
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
	const hasFaults = scenarios.every((one) => faultsOf(one).length > 0)
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
