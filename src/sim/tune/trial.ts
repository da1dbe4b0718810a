/**
 * The runs of one candidate. Runs may end in any order, and some may be unnecessary; what counts is decided in the order of the
 * seeds, so that the outcome does not depend on the threads that made the runs.
 */
import type { SimulationResult } from '../measure/result.ts'
import type { Candidate } from './candidates.ts'
import { findViolations, type TuneConstraints, type Violation } from './constraints.ts'

/** A run with the constraints that it violates. */
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
	 * Returns the index of the next seed to run, or undefined if none can start now. Most candidates fail in their first run, so the
	 * others start only when it has ended; then all of them, because a candidate that survives once probably survives again.
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

	/** How many runs have ended. */
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
