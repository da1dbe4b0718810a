/**
 * Invariants that hold exactly in every run and not only on average: Little's law, and that
 * nothing is lost or counted twice. Checked for small random scenarios with all kinds of faults, in the middle of a run and
 * at its end.
 */
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import {
	type Scenario,
	type ServiceModel,
	type ServiceResult,
	Simulation,
	type SimulationResult,
} from 'yaoki/sim'
import { api, known, web } from './agreement.ts'
import { aQueue, aScenario } from './random-scenarios.ts'

const WORLDS = { numRuns: 100 }

const aMoment = fc.double({ min: 1, max: 3_000, noNaN: true })

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Returns the result in the middle of a run and at its end. */
function looks(scenario: Scenario, middleMs: number): { middle: SimulationResult; end: SimulationResult } {
	const simulation = new Simulation(scenario)
	simulation.advance(middleMs)
	const middle = simulation.result()
	simulation.advance()
	return { middle, end: simulation.result() }
}

/** Requests that were processed or rejected, for any reason. */
const doneWith = ({ useful, wasted, rejected, rateLimited, unreachable, dropped }: ServiceResult): number =>
	useful + wasted + rejected + rateLimited + unreachable + dropped

/** True if the service has a period in which it never responds. */
const hangs = (service: ServiceModel | undefined): boolean =>
	service !== undefined &&
	service.kind !== 'optimistic-lock' &&
	(service.faults ?? []).some((fault) => fault.kind === 'outage' && fault.mode === 'hang')

/** Checks a property of every scenario, in the middle of its run and at its end. */
const always = (holds: (middle: SimulationResult, end: SimulationResult, scenario: Scenario) => void): void =>
	fc.assert(
		fc.property(aScenario, aMoment, (scenario, middleMs) => {
			const { middle, end } = looks(scenario, middleMs)
			holds(middle, end, scenario)
		}),
		WORLDS,
	)

describe('in every scenario', () => {
	it("Little's law holds exactly: the area under the count is the sum of the times", () => {
		always((middle, end) => {
			for (const { services, endedAtMs } of [middle, end])
				for (const { inFlight } of Object.values(services)) {
					const [area, times] = [inFlight.mean * endedAtMs, inFlight.count * inFlight.meanMs]
					// For a request that has just arrived, the rounding of the clock exceeds the relative tolerance.
					const rounding = 1e-12 * endedAtMs
					expect(Math.abs(area - times)).toBeLessThanOrEqual(1e-9 * Math.max(area, times) + rounding)
				}
		})
	})

	it('a request is processed, rejected or in flight, and at the end none is in flight that could continue', () => {
		always((middle, end, scenario) => {
			for (const service of Object.values(middle.services))
				expect(service.requests - doneWith(service)).toBeGreaterThanOrEqual(0)
			expect(end.endedBy).toBe('idle')
			for (const [name, service] of Object.entries(end.services)) {
				// A worker that calls a service which never responds stays busy, and the queue stays.
				if (name === 'api' && hangs(scenario.services['db'])) continue
				expect(doneWith(service)).toBe(service.requests)
				// Admitted requests were processed, or lost in the queue when the service went down.
				const lost = service.inFlight.count - service.useful - service.wasted - service.dropped
				expect(lost).toBeGreaterThanOrEqual(0)
				expect(lost).toBeLessThanOrEqual(service.unreachable)
			}
			for (const result of [middle, end]) expect(api(result).requests).toBe(web(result).requests)
		})
	})

	it('a call is good, late, failed or unfinished, and at the end only hanging calls are unfinished', () => {
		always((middle, end, scenario) => {
			for (const result of [middle, end]) {
				const { calls, good, late, failed, rejected, unfinished, requests, retries } = web(result)
				expect(good + late + failed + unfinished).toBe(calls)
				expect(Math.min(unfinished, failed - rejected, requests - retries)).toBeGreaterThanOrEqual(0)
				expect(calls - rejected - (requests - retries)).toBeGreaterThanOrEqual(0)
			}
			const { unfinished, calls, rejected, requests, retries } = web(end)
			if (!Object.values(scenario.services).some(hangs))
				expect([unfinished, calls - rejected]).toEqual([0, requests - retries])
		})
	})

	it('the timeline adds up to the totals', () => {
		always((middle, end) => {
			for (const { timeline, clients, services } of [middle, end]) {
				for (const [name, steps] of Object.entries(timeline.clients)) {
					const { calls, good, late, failed } = known(clients[name])
					expect(
						[steps.started, steps.good, steps.startedGood, steps.bad, steps.startedBad].map(sum),
					).toEqual([calls, good, good, late + failed, late + failed])
				}
				for (const [name, steps] of Object.entries(timeline.services)) {
					const service = known(services[name])
					const { requests, useful, wasted } = service
					expect([steps.requests, steps.useful, steps.wasted, steps.rejected].map(sum)).toEqual([
						requests,
						useful,
						wasted,
						doneWith(service) - useful - wasted,
					])
				}
			}
		})
	})
})

test("Little's law holds across services: the area at the service is the sum of the latencies of its callers", () => {
	fc.assert(
		fc.property(aQueue, (scenario) => {
			const { end } = looks(scenario, 1)
			const { latency, good, calls } = web(end)
			const [area, times] = [api(end).inFlight.mean * end.endedAtMs, latency.meanMs * good]
			expect(good).toBe(calls)
			expect(Math.abs(area - times)).toBeLessThanOrEqual(1e-9 * area)
		}),
		WORLDS,
	)
})

test('without a policy, unfinished calls are the requests in flight', () => {
	fc.assert(
		fc.property(fc.nat(), aMoment, (seed, middleMs) => {
			const { middle } = looks(
				{
					seed,
					until: 'idle',
					services: {
						api: {
							workers: 2,
							serviceTimeMs: { kind: 'exponential', meanMs: 30 },
							queue: { limit: 20 },
							faults: [{ kind: 'outage', fromMs: 500, toMs: 700 }],
						},
					},
					clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 80, toMs: 2_500 } } },
				},
				middleMs,
			)
			expect(api(middle).requests - doneWith(api(middle))).toBe(web(middle).unfinished)
		}),
		WORLDS,
	)
})

test('the random scenarios include outages, full queues, drops, retries and late calls', () => {
	const results = fc.sample(aScenario, { numRuns: 400, seed: 1 }).map((scenario) => looks(scenario, 1).end)
	const seen = (of: (result: SimulationResult) => number) => results.filter((result) => of(result) > 0).length
	const services = (name: 'rejected' | 'rateLimited' | 'unreachable' | 'dropped' | 'wasted') =>
		seen((result) => sum(Object.values(result.services).map((service) => service[name])))
	const counts = [
		...(['rejected', 'rateLimited', 'unreachable', 'dropped', 'wasted'] as const).map(services),
		...(['late', 'failed', 'rejected', 'retries', 'unfinished'] as const).map((name) =>
			seen((result) => web(result)[name]),
		),
	]
	expect(Math.min(...counts)).toBeGreaterThan(5)
})
