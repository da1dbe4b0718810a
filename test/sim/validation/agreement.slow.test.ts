/** Shows that the tests in this folder can fail. */
import { describe, expect, it } from 'vitest'
import type { Scenario } from 'yaoki/sim'
import { expectAgreement, known, meanLatency, meanPresent, runs, samples } from './agreement.ts'
import { meanWaitMs, momentsOf } from './closed-form.ts'

const around = (mean: number, spread: number) =>
	Array.from({ length: 24 }, (_, index) => mean + (index % 2 === 0 ? spread : -spread))

const queue: Scenario = {
	durationMs: 400_000,
	services: { api: { serviceTimeMs: { kind: 'exponential', meanMs: 10 } } },
	clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 50 } } },
}

describe('an agreement', () => {
	it('is found if the interval contains the value of the formula', () => {
		expectAgreement(around(100, 2), 101)
	})
	it('is denied if the value is outside of the interval', () => {
		expect(() => expectAgreement(around(100, 2), 102)).toThrow('off')
	})
	it('is denied if the interval is too wide', () => {
		expect(() => expectAgreement(around(100, 20), 100)).toThrow('too wide')
	})
	it('is denied for a formula that is 5 % off, or for another distribution', () => {
		const latencies = samples(runs(queue), meanLatency)
		expectAgreement(latencies, 20)
		expect(() => expectAgreement(latencies, 20 * 1.05)).toThrow('off')
		expect(() => expectAgreement(latencies, 10 + meanWaitMs(0.05, momentsOf(10)))).toThrow('off')
	})
})

describe('the counted part of a run', () => {
	it('excludes the warm-up', () => {
		const early: Scenario = {
			...queue,
			clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 50, toMs: 30_000 } } },
		}
		expect(Math.max(...samples(runs(early), meanPresent))).toBeLessThan(1e-12)
		expect(Math.min(...samples(runs(early, 0), meanPresent))).toBeGreaterThan(0)
	})
	it('must exist', () => {
		expect(() => known(undefined)).toThrow('no such part')
	})
	it('requires a complete run', () => {
		expect(() => runs({ ...queue, maxEvents: 100 })).toThrow('cut short')
	})
})
