/** What a user's test says of a simulation. Every run must hold it: a policy that survives nine seeds of ten does not survive. */
import { YaokiError } from '../../core/errors/errors.ts'
import { type MeasureName, measureOf } from '../measure/measures.ts'
import type { Result } from '../measure/result.ts'
import type { Replications } from './replicate.ts'

/** An expectation did not hold. Says which figure, what it was, and in the run of which seed. */
export class ResilienceError extends YaokiError {
	override readonly name = 'ResilienceError'
	readonly measure: MeasureName
	/** Null is never, for a time to recovery. */
	readonly actual: number | null
	readonly seed: number | string

	constructor(measure: MeasureName, actual: number | null, expected: string, seed: number | string) {
		const got = actual === null ? 'never' : String(Number(actual.toPrecision(6)))
		super('YAOKI_RESILIENCE', `${measure}: expected ${expected}, got ${got} (seed ${seed})`)
		this.measure = measure
		this.actual = actual
		this.seed = seed
	}
}

/** Expectations, each of which throws a ResilienceError or lets the next follow. */
export interface ResilienceExpectation {
	/** All is well again so soon after the last fault. */
	toRecoverWithin(ms: number): ResilienceExpectation
	/** Fewer requests for each call, at the service that got most. */
	amplificationBelow(factor: number): ResilienceExpectation
	/** A greater share of calls, 0 to 1, ended well and in time. */
	goodShareAbove(share: number): ResilienceExpectation
	/** Less of the work, 0 to 1, was for nobody. */
	wastedShareBelow(share: number): ResilienceExpectation
	/** 99 % of the calls that ended well took less. */
	p99Below(ms: number): ResilienceExpectation
	/** Fewer requests in the busiest second of the busiest service. */
	peakBelow(perSecond: number): ResilienceExpectation
	/** The general form of the above. */
	measure(name: MeasureName, holds: Comparison, bound: number): ResilienceExpectation
}

/** How a figure is held against a bound. */
export type Comparison = '<' | '<=' | '>' | '>='

const HOLDS: Readonly<Record<Comparison, (value: number, bound: number) => boolean>> = {
	'<': (value, bound) => value < bound,
	'<=': (value, bound) => value <= bound,
	'>': (value, bound) => value > bound,
	'>=': (value, bound) => value >= bound,
}

/**
 * For tests of your own: what must be true of a run, or of every one of several.
 *
 * @example
 * expectResilience(simulate(scenario)).toRecoverWithin(5_000).amplificationBelow(1.2)
 */
export function expectResilience(result: Result | Replications): ResilienceExpectation {
	const runs = 'runs' in result ? result.runs : [result]
	const expectation: ResilienceExpectation = {
		toRecoverWithin: (ms) => expectation.measure('recoveredAfterMs', '<=', ms),
		amplificationBelow: (factor) => expectation.measure('amplification', '<', factor),
		goodShareAbove: (share) => expectation.measure('goodShare', '>', share),
		wastedShareBelow: (share) => expectation.measure('wastedShare', '<', share),
		p99Below: (ms) => expectation.measure('p99Ms', '<', ms),
		peakBelow: (perSecond) => expectation.measure('peakPerSecond', '<', perSecond),
		measure(name, holds, bound) {
			for (const run of runs) {
				const value = measureOf(name, run)
				if (value === null || !HOLDS[holds](value, bound))
					throw new ResilienceError(name, value, `${holds} ${bound}`, run.seed)
			}
			return expectation
		},
	}
	return expectation
}
