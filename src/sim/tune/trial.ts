/**
 * The runs of one candidate. Runs may end in any order, and some may be unnecessary; what counts is decided
 * in the order of the seeds, so that the outcome does not depend on the threads that made the runs.
 */

import { MEASURES, type MeasureName, readMeasure } from '../measure/measures.ts'
import type { SimulationResult } from '../measure/result.ts'
import { findViolations, type TuneConstraints, type Violation } from './constraints.ts'
import type { Candidate } from './moves.ts'

export interface CheckedRun {
	readonly result: SimulationResult
	readonly violations: readonly Violation[]
}

export class Trial {
	readonly candidate: Candidate
	readonly #runs: (CheckedRun | undefined)[]
	/** Whether the first violation ends the trial. */
	readonly #isSearch: boolean
	#started = 0

	constructor(candidate: Candidate, seeds: number, kind: 'search' | 'all seeds') {
		this.candidate = candidate
		this.#runs = new Array<undefined>(seeds).fill(undefined)
		this.#isSearch = kind === 'search'
	}

	/**
	 * Returns the index of the next seed to run, or undefined if none can start now. Most candidates fail in
	 * their first run, so the others start only when it has ended; then all of them, because a candidate that
	 * survives once probably survives again.
	 */
	start(): number | undefined {
		const waits = this.#isSearch && this.#started === 1 && this.#runs[0] === undefined
		const isOver = this.#isSearch && this.#runs.some((run) => run !== undefined && run.violations.length > 0)
		if (waits || isOver || this.#started >= this.#runs.length) return undefined
		return this.#started++
	}

	add(index: number, result: SimulationResult, constraints: TuneConstraints, scenario: number): void {
		this.#runs[index] = { result, violations: findViolations(constraints, result, scenario) }
	}

	get ended(): number {
		return this.#runs.filter((run) => run !== undefined).length
	}

	/** The runs that count: up to the first with a violation, or all. Undefined while one of them is missing. */
	get outcome(): readonly CheckedRun[] | undefined {
		const counted: CheckedRun[] = []
		for (const run of this.#runs) {
			if (!run) return undefined
			counted.push(run)
			if (this.#isSearch && run.violations.length > 0) break
		}
		return counted
	}
}

/** A candidate that violates a constraint, and how far it is from satisfying all. */
export interface Miss {
	readonly candidate: Candidate
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
