/**
 * Compares the simulator with a formula. The first tenth of a run, which starts empty, is
 * excluded as warm-up, and the rest is one sample of the steady state. 24 seeds give an interval, and two things must
 * hold: the value of the formula lies in it, and it is narrow. Without the second a test would pass for lack of data.
 *
 * The confidence is 99.9 %. Seeds are fixed, so that a test always passes or always fails; with fresh seeds each call of `expectAgreement`
 * would raise a false alarm once in a thousand runs, and each file states how many calls it has.
 */
import { expect } from 'vitest'
import {
	type ClientResult,
	type Scenario,
	type ServiceResult,
	Simulation,
	type SimulationResult,
} from 'yaoki/sim'

const REPLICATIONS = 24

/** The 99.95th percentile of Student's t distribution with 23 degrees of freedom. */
const STUDENT = 3.76763

/** The maximum half width of an interval, as a share of the formula's value. */
const NARROW = 0.03

/** Two totals that grow during a run and whose quotient is the figure: time spent and calls, or rejections and calls. */
export type Growing = (result: SimulationResult) => readonly [sum: number, over: number]

/** The totals after the warm-up, and at the end of a run. */
interface Stretch {
	readonly before: SimulationResult
	readonly after: SimulationResult
}

/** Runs 24 seeds. `warmUp` is the share of the duration that is not counted. */
export function runs(scenario: Scenario, warmUp = 0.1): readonly Stretch[] {
	return Array.from({ length: REPLICATIONS }, (_, index) => {
		const simulation = new Simulation({ ...scenario, seed: index + 1 })
		simulation.advance(warmUp * (scenario.durationMs ?? 0))
		const before = simulation.result()
		simulation.advance()
		const after = simulation.result()
		if (after.endedBy === 'event-limit') throw new Error('a run was cut short')
		return { before, after }
	})
}

/** Returns the figure of each run, without the warm-up. */
export const samples = (stretches: readonly Stretch[], figure: Growing): readonly number[] =>
	stretches.map(({ before, after }) => {
		const [sumBefore, overBefore] = figure(before)
		const [sumAfter, overAfter] = figure(after)
		return (sumAfter - sumBefore) / (overAfter - overBefore)
	})

/** Fails unless the interval of the samples is narrow and contains the formula's value. */
export function expectAgreement(values: readonly number[], formula: number, narrow = NARROW): void {
	expect(values.length).toBe(REPLICATIONS)
	const mean = values.reduce((sum, value) => sum + value, 0) / REPLICATIONS
	const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
	const half = STUDENT * Math.sqrt(squares / (REPLICATIONS - 1) / REPLICATIONS)
	const found = `${mean} +- ${half}, and the formula says ${formula}`
	expect(half, `too wide: ${found}`).toBeLessThan(narrow * formula)
	expect(Math.abs(mean - formula), `off: ${found}`).toBeLessThanOrEqual(half)
}

export const web = ({ clients }: SimulationResult): ClientResult => known(clients['web'])
export const api = ({ services }: SimulationResult): ServiceResult => known(services['api'])

export function known<T>(found: T | undefined): T {
	if (found === undefined) throw new Error('the scenario has no such part')
	return found
}

/** Latency of successful calls. */
export const meanLatency: Growing = (result) => {
	const { latency, good, late } = web(result)
	return [latency.meanMs * (good + late), good + late]
}

/** Requests in flight, mean over time. */
export const meanPresent: Growing = (result) => [
	api(result).inFlight.mean * result.endedAtMs,
	result.endedAtMs,
]

/** Queued requests, mean over time. */
export const meanQueue: Growing = (result) => [api(result).queue.mean * result.endedAtMs, result.endedAtMs]

/** The share of requests that did not find a free worker. */
export const waitedShare: Growing = (result) => {
	const { queue, inFlight } = api(result)
	const waited = queue.age.meanMs > 0 ? (queue.mean * result.endedAtMs) / queue.age.meanMs : 0
	return [waited, inFlight.count]
}

/** The share of successful calls that took longer than the client's limit. */
export const lateShare: Growing = (result) => [web(result).late, web(result).good + web(result).late]

/** The share of calls that a policy rejected, and the share that failed. */
export const refusedShare: Growing = (result) => [web(result).rejected, web(result).calls]
export const failedShare: Growing = (result) => [web(result).failed, web(result).calls]

/** The share of requests that found the queue full. */
export const rejectedShare: Growing = (result) => [api(result).rejected, api(result).requests]

/** Requests per call, at a service. */
export const requestsPerCall =
	(name = 'api'): Growing =>
	(result) => [known(result.services[name]).requests, web(result).calls]
