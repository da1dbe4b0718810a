/**
 * Limits that every run of a policy must satisfy, and how far a run is from them. The distance to a limit is
 * 1 minus the smaller divided by the larger of value and limit: 0 at the limit, 0.5 at twice or half of it, 1
 * infinitely far. It has no unit, so a latency and a share can be compared, it treats "at most" and "at
 * least" alike, and it has a value for "never recovers", which is 1. The excess in percent of the limit was
 * rejected: it has no such value, is undefined for a limit of 0, and makes every miss of an upper limit look
 * worse than the worst miss of a lower one.
 */
import { invalidOption } from '../../core/options/schema.ts'
import { MEASURE_NAMES, type MeasureName, readMeasure } from '../measure/measures.ts'
import type { RecoveryStatus, SimulationResult } from '../measure/result.ts'
import { type Operator, satisfies } from '../run/expect.ts'
import { amount, fields, named, oneOf, type Shape } from '../scenario/shape.ts'

/** Limits of one measure. A run without the measure, such as one that does not recover, or ends too soon to show it, violates every limit. */
export interface MeasureLimit {
	readonly atMost?: number | undefined
	readonly atLeast?: number | undefined
	/** Like `atMost`, but the limit itself is too much. */
	readonly below?: number | undefined
	/** Like `atLeast`, but the limit itself is not enough. */
	readonly above?: number | undefined
}

/** Limits by measure. */
export type TuneConstraints = Partial<Readonly<Record<MeasureName, MeasureLimit>>>

/** A violated constraint. */
export interface Violation {
	readonly measure: MeasureName
	/** Null if the run has no such value. */
	readonly actual: number | null
	/** Whether the run recovered; undefined if no fault ended during the run. */
	readonly recovery?: RecoveryStatus | undefined
	/** The limits of the measure. */
	readonly limit: MeasureLimit
	readonly seed: number | string
	/** The index of the scenario, if there are several. */
	readonly scenario: number
	/** How far the value is from the limit: 0 at the limit, 0.5 at twice or half of it, 1 without a value. */
	readonly distance: number
	/** Why: the value is beyond the limit, there is no value, or the run was cut short by its event limit. */
	readonly reason: 'limit' | 'no-value' | 'event-limit'
}

export const LIMIT_OPERATORS: Readonly<Record<keyof MeasureLimit, Operator>> = {
	atMost: '<=',
	atLeast: '>=',
	below: '<',
	above: '>',
}
const LIMITS = Object.entries(LIMIT_OPERATORS) as [keyof MeasureLimit, Operator][]

const measureName = oneOf(...MEASURE_NAMES)
const limits = fields(Object.fromEntries(LIMITS.map(([name]) => [`${name}?`, amount()])))

export const checkConstraints: Shape = (constraints, path) =>
	named((limit, limitPath) => {
		measureName(limitPath.slice(path.length + 1), limitPath)
		limits(limit, limitPath)
		if (Object.keys(limit as object).length === 0)
			invalidOption(limitPath, '{}', 'an object with atMost, atLeast, below or above')
	}, 'limit, such as recoveredAfterMs: { atMost: 5000 }')(constraints, path)

/** Returns the constraints that a run violates, in the order in which they are given. */
export function findViolations(
	constraints: TuneConstraints,
	result: SimulationResult,
	scenario = 0,
): readonly Violation[] {
	return Object.entries(constraints).flatMap(([name, limit = {}]) => {
		const measure = name as MeasureName
		const violated = LIMITS.flatMap(([key, operator]) => {
			const bound = limit[key]
			return bound === undefined || satisfies(result, measure, operator, bound) ? [] : [bound]
		})
		if (violated.length === 0) return []
		const actual = readMeasure(measure, result)
		const isCut = result.endedBy === 'event-limit'
		const reason = isCut ? 'event-limit' : actual === null ? 'no-value' : 'limit'
		const distance = Math.max(...violated.map((bound) => (isCut ? 1 : relativeGap(actual, bound))))
		const recovery = result.recovery?.status
		return [{ measure, actual, recovery, limit, seed: result.seed, scenario, distance, reason }]
	})
}

/** Returns 1 minus the smaller divided by the larger of two amounts: 0 if they are equal. No value is infinitely far. */
export function relativeGap(one: number | null, other: number): number {
	if (one === null) return 1
	return one === other ? 0 : 1 - Math.min(one, other) / Math.max(one, other)
}
