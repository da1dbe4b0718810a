/**
 * Holds the simulator against a formula. A run is cut in two: what it did in its first tenth, when it had begun empty, is
 * taken off, and the rest is one sample of what happens in the long run. Over 24 seeds that gives an interval, and two things must
 * hold: the formula lies in it, and it is narrow. Without the second a test would pass for want of data.
 *
 * The interval is one of 99.9 %. Seeds are fixed, so a test that passes always does; with fresh ones each call of `expectAgreement`
 * would raise a false alarm once in a thousand times, and each file says how many of them it has.
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

/** The 99.95th percentile of Student's law with 23 degrees of freedom. */
const STUDENT = 3.76763

/** How wide half an interval may be, as a share of the formula's value. */
const NARROW = 0.03

/** Two totals that grow during a run, whose quotient is the figure: time spent and calls, or refusals and calls. */
export type Growing = (result: SimulationResult) => readonly [sum: number, over: number]

/** What a run had counted when the counting began, and at its end. */
interface Stretch {
	readonly before: SimulationResult
	readonly after: SimulationResult
}

/** Runs with 24 seeds. `warmUp` is the share of the duration that is not counted. */
export function runs(scenario: Scenario, warmUp = 0.1): readonly Stretch[] {
	return Array.from({ length: REPLICATIONS }, (_, index) => {
		const simulation = new Simulation({ ...scenario, seed: index + 1 })
		simulation.advance(warmUp * (scenario.duration ?? 0))
		const before = simulation.result()
		simulation.advance()
		const after = simulation.result()
		if (after.endedBy === 'event-limit') throw new Error('a run was cut short')
		return { before, after }
	})
}

/** The figure of each run, in the time that is counted. */
export const samples = (stretches: readonly Stretch[], figure: Growing): readonly number[] =>
	stretches.map(({ before, after }) => {
		const [sumBefore, overBefore] = figure(before)
		const [sumAfter, overAfter] = figure(after)
		return (sumAfter - sumBefore) / (overAfter - overBefore)
	})

/** Fails unless the interval of the samples is narrow and has the formula's value in it. */
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

/** From a call's begin to its good end. */
export const meanLatency: Growing = (result) => {
	const { latency, good, late } = web(result)
	return [latency.meanMs * (good + late), good + late]
}

/** In the queue or at a worker, over time. */
export const meanPresent: Growing = (result) => [
	api(result).inFlight.mean * result.endedAtMs,
	result.endedAtMs,
]

/** In the queue, over time. */
export const meanQueue: Growing = (result) => [api(result).queue.mean * result.endedAtMs, result.endedAtMs]

/** The share of requests that did not find a free worker: as many as make up the queue, each with its age. */
export const waitedShare: Growing = (result) => {
	const { queue, inFlight } = api(result)
	const waited = queue.age.meanMs > 0 ? (queue.mean * result.endedAtMs) / queue.age.meanMs : 0
	return [waited, inFlight.count]
}

/** The share of good answers that took longer than the client's limit. */
export const lateShare: Growing = (result) => [web(result).late, web(result).good + web(result).late]

/** The share of calls that a policy refused before they were sent, and that which failed in the end. */
export const refusedShare: Growing = (result) => [web(result).rejected, web(result).calls]
export const failedShare: Growing = (result) => [web(result).failed, web(result).calls]

/** The share of requests that found the queue full. */
export const rejectedShare: Growing = (result) => [api(result).rejected, api(result).requests]

/** Requests for each call, at a service. */
export const requestsPerCall =
	(name = 'api'): Growing =>
	(result) => [known(result.services[name]).requests, web(result).calls]
