/** What a user's test says of a simulation. Every run must hold it: a policy that survives nine seeds of ten does not survive. */
import { YaokiError } from '../../core/errors/errors.ts'
import { invalidOption } from '../../core/options/schema.ts'
import { MEASURE_NAMES, type MeasureName, readMeasure } from '../measure/measures.ts'
import type { SimulationResult } from '../measure/result.ts'
import { oneOf } from '../scenario/shape.ts'
import type { Replications } from './replicate.ts'

/** An expectation did not hold. Says which figure, what it was, and in the run of which seed. */
export class ResilienceError extends YaokiError {
	override readonly name = 'ResilienceError'
	readonly measure: MeasureName
	/** Null is never, for a time to recovery. */
	readonly actual: number | null
	readonly seed: number | string

	constructor(measure: MeasureName, expected: string, run: SimulationResult) {
		const actual = readMeasure(measure, run)
		super(
			'YAOKI_RESILIENCE',
			`${measure}: expected ${expected}, got ${told(measure, actual, run)} (seed ${run.seed})`,
		)
		this.measure = measure
		this.actual = actual
		this.seed = run.seed
	}
}

function told(measure: MeasureName, actual: number | null, { endedBy, recovery }: SimulationResult): string {
	const value = actual === null ? 'never' : String(Number(actual.toPrecision(6)))
	if (endedBy === 'event-limit') return `${value} before it was cut short by its limit of events`
	if (measure === 'recoveredAfterMs' && recovery === null) return 'no fault that came to its end'
	return value
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
	/** Fewer requests a second in the busiest step of the busiest service. */
	peakBelow(perSecond: number): ResilienceExpectation
	/** The general form of the above. */
	measure(name: MeasureName, holds: Comparison, bound: number): ResilienceExpectation
}

/** How a figure is held against a bound. */
export type Comparison = '<' | '<=' | '>' | '>='

/** A run that was cut short shows nothing: what it would have come to is not known. */
function holdsIn(run: SimulationResult, name: MeasureName, holds: Comparison, bound: number): boolean {
	const value = readMeasure(name, run)
	return value !== null && run.endedBy !== 'event-limit' && HOLDS[holds](value, bound)
}

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
export function expectResilience(result: SimulationResult | Replications): ResilienceExpectation {
	const runs = Object(result) !== result ? [] : 'runs' in result ? result.runs : [result]
	if (runs.length === 0 || runs.some((run) => !run?.totals))
		invalidOption('result', result, 'what simulate or replicate gave')
	const expectation: ResilienceExpectation = {
		toRecoverWithin: (ms) => expectation.measure('recoveredAfterMs', '<=', ms),
		amplificationBelow: (factor) => expectation.measure('amplification', '<', factor),
		goodShareAbove: (share) => expectation.measure('goodShare', '>', share),
		wastedShareBelow: (share) => expectation.measure('wastedShare', '<', share),
		p99Below: (ms) => expectation.measure('p99Ms', '<', ms),
		peakBelow: (perSecond) => expectation.measure('peakPerSecond', '<', perSecond),
		measure(name, holds, bound) {
			oneOf(...MEASURE_NAMES)(name, 'measure')
			oneOf(...Object.keys(HOLDS))(holds, 'comparison')
			// No bound at all is one as well: that it recovers, however late.
			if (typeof bound !== 'number' || !(bound >= 0))
				invalidOption(`bound of ${name}`, bound, 'a number, 0 or more')
			const failed = runs.find((run) => !holdsIn(run, name, holds, bound))
			if (failed) throw new ResilienceError(name, `${holds} ${bound}`, failed)
			return expectation
		},
	}
	return expectation
}
