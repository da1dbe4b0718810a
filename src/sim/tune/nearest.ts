/**
 * Which candidate comes closest to satisfying all constraints in all runs. Its distance is the largest of its runs and constraints,
 * because one violation is enough to fail: an average would prefer a policy that collapses with one seed of five. Candidates at the
 * same distance, for example all those that never recover, are ordered by the mean distance, then by the objective.
 */
import { MEASURES, type MeasureName, readMeasure } from '../measure/measures.ts'
import type { Candidate } from './candidates.ts'
import type { Violation } from './constraints.ts'
import type { CheckedRun } from './trial.ts'

/** A candidate that violates a constraint, and how far it is from satisfying all. */
export interface Miss {
	readonly candidate: Candidate
	/** The violation with the largest distance. */
	readonly violation: Violation
	readonly meanDistance: number
	readonly score: number
}

export function toMiss(
	candidate: Candidate,
	runs: readonly CheckedRun[],
	objective: MeasureName,
): Miss | undefined {
	const violations = runs.flatMap((run) => run.violations)
	const [first, ...others] = violations
	if (!first) return undefined
	return {
		candidate,
		violation: others.reduce((worst, one) => (one.distance > worst.distance ? one : worst), first),
		meanDistance: violations.reduce((sum, { distance }) => sum + distance, 0) / runs.length,
		score: scoreOf(objective, runs),
	}
}

/** Orders misses, the nearest first. The sort must be stable: of equal ones the first in the search, the smaller, wins. */
export const byDistance = (one: Miss, other: Miss): number =>
	one.violation.distance - other.violation.distance ||
	one.meanDistance - other.meanDistance ||
	(one.score === other.score ? 0 : other.score - one.score)

/** Returns the mean of the objective over the runs that have it, signed so that more is better. */
export function scoreOf(objective: MeasureName, runs: readonly CheckedRun[]): number {
	const values = runs.map(({ result }) => readMeasure(objective, result)).filter((value) => value !== null)
	if (values.length === 0) return -Infinity
	const mean = values.reduce((sum, value) => sum + value, 0) / values.length
	return MEASURES[objective].better === 'more' ? mean : -mean
}
