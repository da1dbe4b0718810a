/**
 * Systems without a queue: calls that find no free worker are lost, or retry later. 12 intervals: with fresh seeds about one run
 * in eighty would raise a false alarm.
 */
import { describe, expect, test } from 'vitest'
import { retry } from 'yaoki'
import type { Distribution, PolicyModel, SimulationResult } from 'yaoki/sim'
import {
	api,
	expectAgreement,
	type Growing,
	meanPresent,
	refusedShare,
	requestsPerCall,
	runs,
	samples,
	web,
} from './agreement.ts'
import { erlangB, meanInOrbit, momentsOf } from './closed-form.ts'

describe('a bulkhead without a queue rejects by Erlang B, for any distribution of service times', () => {
	test.each<[string, Distribution, number]>([
		['exponential', { kind: 'exponential', meanMs: 10 }, 12_000],
		['constant', 10, 6_000],
		['lognormal', { kind: 'lognormal', medianMs: 5, p99Ms: 60 }, 12_000],
	])('%s', (_, law, calls) => {
		const [maxConcurrent, load] = [5, 4]
		const perMs = load / momentsOf(law).meanMs
		const stretches = runs({
			durationMs: calls / perMs,
			services: { api: { workers: Infinity, serviceTimeMs: law } },
			clients: {
				web: { to: 'api', arrivals: { kind: 'poisson', perSecond: perMs * 1_000 }, policy: 'limited' },
			},
			policies: { limited: [{ bulkhead: { maxConcurrent, maxQueue: 0 } }] },
		})
		const blocked = erlangB(maxConcurrent, load)
		expectAgreement(samples(stretches, refusedShare), blocked)
		expectAgreement(samples(stretches, meanPresent), load * (1 - blocked))
		expect(Math.max(...stretches.map(({ after }) => web(after).retries))).toBe(0)
	})
})

/** The time that calls spent, without that at the worker: without a queue, the rest is retry delays. */
const meanAway: Growing = (result) => {
	const { latency, good } = web(result)
	return [latency.meanMs * good - api(result).inFlight.mean * result.endedAtMs, result.endedAtMs]
}

const comingAgain =
	(everyMs: number): PolicyModel =>
	({ runtime }) =>
		// The longest wait for a free server is finite but unknown.
		retry({ maxRetries: 1e6, delayFor: () => -everyMs * Math.log(1 - runtime.random()) })

const isNeverGivenUp = (result: SimulationResult) => web(result).failed === 0

describe('an M/M/1 retrial queue has the mean number of waiting calls of Falin and Templeton', () => {
	test.each([
		[0.4, 20, 13_000],
		[0.5, 60, 13_000],
	])('at a load of %f and retries every %f ms', (load, everyMs, calls) => {
		const meanMs = 10
		const perMs = load / meanMs
		const stretches = runs({
			durationMs: calls / perMs,
			services: { api: { serviceTimeMs: { kind: 'exponential', meanMs }, queue: { limit: 0 } } },
			clients: {
				web: { to: 'api', arrivals: { kind: 'poisson', perSecond: perMs * 1_000 }, policy: 'again' },
			},
			policies: { again: comingAgain(everyMs) },
		})
		const away = meanInOrbit(perMs, meanMs, 1 / everyMs)
		expectAgreement(samples(stretches, meanAway), away, 0.04)
		expectAgreement(samples(stretches, meanPresent), load)
		// Each waiting call retries once in that time, so these are the requests beyond the first.
		expectAgreement(samples(stretches, requestsPerCall()), 1 + away / everyMs / perMs)
		expect(stretches.length).toBeGreaterThan(0)
		expect(stretches.filter(({ after }) => !isNeverGivenUp(after))).toEqual([])
	})
})
