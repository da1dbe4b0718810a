/** What a policy must achieve, in every run. */
import { checkRange, invalidOption } from '../../core/options/schema.ts'
import { MEASURE_NAMES, type MeasureName, readMeasure } from '../measure/measures.ts'
import type { SimulationResult } from '../measure/result.ts'
import { listed } from '../scenario/shape.ts'

/** Bounds of one figure. Where a run has no such figure, as when it never recovers, no bound holds. */
export interface Limit {
	readonly atMost?: number | undefined
	readonly atLeast?: number | undefined
}

/** Bounds by figure. */
export type Constraints = Partial<Readonly<Record<MeasureName, Limit>>>

/** A constraint that did not hold. */
export interface Violation {
	readonly measure: MeasureName
	/** Null is never, for a time to recovery. */
	readonly actual: number | null
	readonly seed: number | string
}

export function checkConstraints(constraints: Constraints): void {
	if (Object(constraints) !== constraints || Object.keys(constraints).length === 0)
		invalidOption(
			'constraints',
			constraints,
			'bounds by figure, such as { recoveredAfterMs: { atMost: 5000 } }',
		)
	for (const [name, bound] of Object.entries(constraints)) {
		checkMeasure(`constraints.${name}`, name)
		const path = `constraints.${name}`
		const names = Object.keys(Object(bound))
		const strange = names.find((one) => one !== 'atMost' && one !== 'atLeast')
		if (names.length === 0 || strange !== undefined)
			invalidOption(path, strange ?? bound, '{ atMost } or { atLeast }')
		for (const [side, one] of Object.entries(bound ?? {})) checkRange(`${path}.${side}`, one)
	}
}

export function checkMeasure(path: string, name: string): void {
	if (!MEASURE_NAMES.some((known) => known === name)) invalidOption(path, name, listed(MEASURE_NAMES))
}

/** The first that does not hold in a run. */
export function violated(constraints: Constraints, result: SimulationResult): Violation | undefined {
	// What was cut short by the event limit has shown nothing.
	if (result.endedBy === 'event-limit') return { measure: 'goodShare', actual: null, seed: result.seed }
	for (const [name, bound] of Object.entries(constraints)) {
		const measure = name as MeasureName
		const actual = readMeasure(measure, result)
		const holds =
			actual !== null && actual <= (bound?.atMost ?? Infinity) && actual >= (bound?.atLeast ?? -Infinity)
		if (!holds) return { measure, actual, seed: result.seed }
	}
	return undefined
}
