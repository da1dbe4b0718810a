/** Summarizes several runs of one scenario, and compares scenarios seed by seed. Pure functions of finished runs. */
import { type Estimate, estimate } from './estimate.ts'
import { MEASURE_NAMES, type MeasureName, readMeasure } from './measures.ts'
import type { RecoveryStatus, SimulationResult } from './result.ts'

/** Several runs of one scenario, with the mean of each measure. `replicate` returns it; pass it to `expectResilience`. */
export interface Replications {
	readonly runs: readonly SimulationResult[]
	/** Each measure over the runs that have it: the time to recovery is over the runs that recovered. */
	readonly measures: Readonly<Record<MeasureName, Estimate>>
	/**
	 * Of the runs in which the last fault ended, the shares, 0 to 1, that recovered, that had not recovered at
	 * their end, and that ended too soon to tell. The sum is 1; all are 0 without such runs.
	 */
	readonly recoveredShare: number
	readonly neverRecoveredShare: number
	readonly notShownShare: number
}

/** The runs of one scenario of a comparison, with the differences to the first. `compare` returns a list of them. */
export interface ComparisonResult extends Replications {
	readonly name: string
	/** Difference of each measure to the first scenario, seed by seed. Significant if the interval excludes zero. */
	readonly difference: Readonly<Record<MeasureName, Estimate>>
}

type Estimates = Record<MeasureName, Estimate>

const estimateAll = (valuesOf: (name: MeasureName) => readonly (number | null)[]): Estimates =>
	Object.fromEntries(
		MEASURE_NAMES.map((name) => [name, estimate(valuesOf(name).filter((value) => value !== null))]),
	) as Estimates

/** Summarizes runs, which must be in the order of their seeds. */
export function mergeRuns(runs: readonly SimulationResult[]): Replications {
	const faulty = runs.flatMap(({ recovery }) => recovery ?? [])
	const shareOf = (status: RecoveryStatus): number =>
		faulty.length === 0 ? 0 : faulty.filter((one) => one.status === status).length / faulty.length
	return {
		runs,
		measures: estimateAll((name) => runs.map((run) => readMeasure(name, run))),
		recoveredShare: shareOf('recovered'),
		neverRecoveredShare: shareOf('not-recovered'),
		notShownShare: shareOf('not-shown'),
	}
}

/** Adds to each scenario its difference to the first. */
export function compareRuns(
	scenarios: readonly (readonly [name: string, replications: Replications])[],
): readonly ComparisonResult[] {
	const first = scenarios[0]?.[1].runs ?? []
	return scenarios.map(([name, one]) => ({ name, ...one, difference: differences(one.runs, first) }))
}

const differences = (runs: readonly SimulationResult[], first: readonly SimulationResult[]): Estimates =>
	estimateAll((name) =>
		runs.map((run, index) => {
			const other = first[index]
			const [here, there] = [readMeasure(name, run), other ? readMeasure(name, other) : null]
			return here === null || there === null ? null : here - there
		}),
	)
