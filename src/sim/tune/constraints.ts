/** Limits that every run of a policy must satisfy. */
import { invalidOption } from '../../core/options/schema.ts'
import { MEASURE_NAMES, type MeasureName, readMeasure } from '../measure/measures.ts'
import type { RecoveryStatus, SimulationResult } from '../measure/result.ts'
import { amount, fields, named, oneOf, type Shape } from '../scenario/shape.ts'

/** Limits of one measure. A run without the measure, such as one that does not recover, or ends too soon to show it, violates every limit. */
export interface Limit {
	readonly atMost?: number | undefined
	readonly atLeast?: number | undefined
}

/** Limits by measure. */
export type Constraints = Partial<Readonly<Record<MeasureName, Limit>>>

/** A violated constraint. */
export interface Violation {
	readonly measure: MeasureName
	/** Null if the run has no such value. */
	readonly actual: number | null
	/** Whether the run recovered; undefined if no fault ended during the run. */
	readonly recovery?: RecoveryStatus | undefined
	readonly seed: number | string
}

const measureName = oneOf(...MEASURE_NAMES)
const limits = fields({ 'atMost?': amount(), 'atLeast?': amount() })

export const checkConstraints: Shape = (constraints, path) =>
	named((limit, limitPath) => {
		measureName(limitPath.slice(path.length + 1), limitPath)
		limits(limit, limitPath)
		if (Object.keys(limit as object).length === 0)
			invalidOption(limitPath, '{}', 'an object with atMost or atLeast')
	}, 'limit, such as recoveredAfterMs: { atMost: 5000 }')(constraints, path)

/** Returns the first constraint that a run violates. */
export function findViolation(constraints: Constraints, result: SimulationResult): Violation | undefined {
	// A run that was cut short satisfies nothing.
	if (result.endedBy === 'event-limit') return { measure: 'goodShare', actual: null, seed: result.seed }
	for (const [name, limit] of Object.entries(constraints)) {
		const measure = name as MeasureName
		const actual = readMeasure(measure, result)
		const holds =
			actual !== null && actual <= (limit?.atMost ?? Infinity) && actual >= (limit?.atLeast ?? -Infinity)
		if (!holds) return { measure, actual, recovery: result.recovery?.status, seed: result.seed }
	}
	return undefined
}
