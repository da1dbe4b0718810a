/** Assertions about simulations, for the tests of users. Every run must satisfy them: surviving nine of ten seeds is not enough. */
import { YaokiError } from '../../core/errors/errors.ts'
import { invalidArgument } from '../../core/options/schema.ts'
import { MEASURE_NAMES, type MeasureName, readMeasure } from '../measure/measures.ts'
import type { Replications } from '../measure/replications.ts'
import type { RecoveryStatus, SimulationResult } from '../measure/result.ts'
import { listed } from '../scenario/shape.ts'

/** Why no claim about the replay of an incident holds if the scenario does not end the recorded attempts as the log does. */
export const NOT_REPRODUCED = 'the scenario does not reproduce the log'

/**
 * A run does not satisfy an expectation. The methods of `expectResilience(...)` throw it, with the measure,
 * its value, and the seed of the run. Change the policy, or the expectation.
 */
export class ResilienceError extends YaokiError {
	override readonly name = 'ResilienceError'
	readonly measure: MeasureName
	/** Null if the run has no such value. */
	readonly actual: number | null
	/** Whether the run recovered; undefined if no fault ended during the run. */
	readonly recovery: RecoveryStatus | undefined
	readonly seed: number | string

	/** `undecided`: why the runs show nothing, whatever their values are. */
	constructor(measure: MeasureName, expected: string, run: SimulationResult, undecided?: string) {
		const actual = undecided === undefined ? readMeasure(measure, run) : null
		const got = undecided
			? `cannot be decided, because ${undecided}`
			: `got ${formatActual(measure, actual, run)} (seed ${run.seed})`
		super('YAOKI_RESILIENCE', `${measure}: expected ${expected}, ${got}`)
		this.measure = measure
		this.actual = actual
		this.recovery = undecided === undefined ? run.recovery?.status : undefined
		this.seed = run.seed
	}
}

/** Formats the value of a measure for messages. */
export function formatActual(measure: MeasureName, actual: number | null, run: SimulationResult): string {
	const value = actual === null ? describeMissing(measure, run) : String(Number(actual.toPrecision(6)))
	return run.endedBy === 'event-limit' ? `${value} when the run reached its event limit` : value
}

function describeMissing(measure: MeasureName, { recovery, endedAtMs }: SimulationResult): string {
	if (measure !== 'recoveredAfterMs') return 'no value'
	if (recovery === null) return 'no fault that ended during the run'
	const afterMs = `${Number((endedAtMs - recovery.faultEndedAtMs).toPrecision(6))} ms after the fault`
	if (recovery.status === 'not-shown' && recovery.callsAfter === 0)
		return 'not shown, because no call started after the fault'
	return recovery.status === 'not-shown'
		? `not shown, because the run ended too soon, ${afterMs}`
		: `not recovered when the run ended, ${afterMs}`
}

/** Chainable expectations, which `expectResilience` returns. Each throws a `ResilienceError` if a run does not satisfy it. */
export interface ResilienceExpectation {
	/** Recovers within this time after the last fault. A run that does not show it fails: it ends too soon, or no call starts after the fault. */
	toRecoverWithin(ms: number): ResilienceExpectation
	/** Fewer requests per call, at the service with the highest value. */
	amplificationBelow(factor: number): ResilienceExpectation
	/** A greater share of calls, 0 to 1, succeeded in time. */
	goodShareAbove(share: number): ResilienceExpectation
	/** A smaller share of the work, 0 to 1, was wasted. */
	wastedShareBelow(share: number): ResilienceExpectation
	/** The 99th percentile of the latency of successful calls is lower. */
	p99Below(ms: number): ResilienceExpectation
	/** Fewer requests per second in the busiest step of the busiest service, after the last fault. */
	peakBelow(perSecond: number): ResilienceExpectation
	/** Compares any measure with a limit. */
	measure(name: MeasureName, operator: '<' | '<=' | '>' | '>=', limit: number): ResilienceExpectation
}

export type Operator = Parameters<ResilienceExpectation['measure']>[1]

const OPERATORS: Readonly<Record<Operator, (value: number, limit: number) => boolean>> = {
	'<': (value, limit) => value < limit,
	'<=': (value, limit) => value <= limit,
	'>': (value, limit) => value > limit,
	'>=': (value, limit) => value >= limit,
}

/** Returns whether a run satisfies a limit. A run that was cut short satisfies nothing, because its final values are unknown. */
export function satisfies(
	run: SimulationResult,
	name: MeasureName,
	operator: Operator,
	limit: number,
): boolean {
	const value = readMeasure(name, run)
	return value !== null && run.endedBy !== 'event-limit' && OPERATORS[operator](value, limit)
}

/**
 * Returns expectations that a run, or every one of several runs, must satisfy. For a replay of an incident
 * that is not reproduced, every expectation fails.
 *
 * @example
 * expectResilience(simulate(scenario)).toRecoverWithin(5_000).amplificationBelow(1.2)
 */
export function expectResilience(
	result: SimulationResult | (Pick<Replications, 'runs'> & { readonly isReproduced?: boolean | undefined }),
): ResilienceExpectation {
	const runs = Object(result) !== result ? [] : 'runs' in result ? result.runs : [result]
	if (runs.length === 0 || runs.some((run) => !run?.totals))
		invalidArgument('result', result, 'a result of simulate, replicate or replayIncident')
	const undecided = 'runs' in result && result.isReproduced === false ? NOT_REPRODUCED : undefined
	const expectation: ResilienceExpectation = {
		toRecoverWithin: (ms) => expectation.measure('recoveredAfterMs', '<=', ms),
		amplificationBelow: (factor) => expectation.measure('amplification', '<', factor),
		goodShareAbove: (share) => expectation.measure('goodShare', '>', share),
		wastedShareBelow: (share) => expectation.measure('wastedShare', '<', share),
		p99Below: (ms) => expectation.measure('p99Ms', '<', ms),
		peakBelow: (perSecond) => expectation.measure('peakPerSecond', '<', perSecond),
		measure(name, operator, limit) {
			checkName('name', name, MEASURE_NAMES)
			checkName('operator', operator, Object.keys(OPERATORS))
			// Infinity is allowed: it requires a recovery at any time.
			if (typeof limit !== 'number' || !(limit >= 0))
				invalidArgument(`limit of ${name}`, limit, 'a non-negative number')
			const failed = runs.find((run) => undecided !== undefined || !satisfies(run, name, operator, limit))
			if (failed) throw new ResilienceError(name, `${operator} ${limit}`, failed, undecided)
			return expectation
		},
	}
	return expectation
}

function checkName(argument: string, given: string, names: readonly string[]): void {
	if (!names.includes(given)) invalidArgument(argument, given, listed(names))
}
