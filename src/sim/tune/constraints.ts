/** Limits that every run of a policy must satisfy. */
import { checkRange, invalidOption } from '../../core/options/schema.ts'
import { MEASURE_NAMES, type MeasureName, readMeasure } from '../measure/measures.ts'
import type { SimulationResult } from '../measure/result.ts'
import { listed } from '../scenario/shape.ts'

/** Limits of one measure. A run without the measure, such as one that never recovers, violates every limit. */
export interface Limit {
	readonly atMost?: number | undefined
	readonly atLeast?: number | undefined
}

/** Limits by measure. */
export type Constraints = Partial<Readonly<Record<MeasureName, Limit>>>

/** A violated constraint. */
export interface Violation {
	readonly measure: MeasureName
	/** Null means never, for the time to recovery. */
	readonly actual: number | null
	readonly seed: number | string
}

export function checkConstraints(constraints: Constraints): void {
	if (Object(constraints) !== constraints || Object.keys(constraints).length === 0)
		invalidOption(
			'constraints',
			constraints,
			'limits by measure, such as { recoveredAfterMs: { atMost: 5000 } }',
		)
	for (const [name, limit] of Object.entries(constraints)) {
		checkMeasure(`constraints.${name}`, name)
		const path = `constraints.${name}`
		const names = Object.keys(Object(limit))
		const unknown = names.find((one) => one !== 'atMost' && one !== 'atLeast')
		if (names.length === 0 || unknown !== undefined)
			invalidOption(path, unknown ?? limit, 'an object with atMost or atLeast')
		for (const [side, value] of Object.entries(limit ?? {})) checkRange(`${path}.${side}`, value)
	}
}

export function checkMeasure(path: string, name: string): void {
	if (!MEASURE_NAMES.some((known) => known === name)) invalidOption(path, name, listed(MEASURE_NAMES))
}

/** Returns the first constraint that a run violates. */
export function findViolation(constraints: Constraints, result: SimulationResult): Violation | undefined {
	// A run that was cut short satisfies nothing.
	if (result.endedBy === 'event-limit') return { measure: 'goodShare', actual: null, seed: result.seed }
	for (const [name, limit] of Object.entries(constraints)) {
		const measure = name as MeasureName
		const actual = readMeasure(measure, result)
		const holds =
			actual !== null && actual <= (limit?.atMost ?? Infinity) && actual >= (limit?.atLeast ?? -Infinity)
		if (!holds) return { measure, actual, seed: result.seed }
	}
	return undefined
}
