/**
 * Load that changes over time, and load that fans out. 14 intervals: with fresh seeds about one run in 70 would raise a false alarm.
 */

import { describe, test } from 'vitest'
import { type Distribution, Simulation } from 'yaoki/sim'
import type { RatePoint } from '../../../src/sim/scenario/arrivals-model.ts'
import { expectAgreement, lateShare, meanLatency, runs, samples } from './agreement.ts'
import { meanOfSlowest, slowShare } from './closed-form.ts'

const PERIOD_MS = 4_000
const PERIODS = 20
/** The first periods start empty. */
const WARM_UP = 3
const MEAN_MS = 500
const [PER_MS, AMPLITUDE] = [0.1, 0.08]

/** A sine, from 64 straight lines. The mean of the lines is 0.1 % below the sine. */
const sine: readonly RatePoint[] = Array.from({ length: 64 }, (_, index) => ({
	atMs: (index * PERIOD_MS) / 64,
	perSecond: 1_000 * (PER_MS + AMPLITUDE * Math.sin((2 * Math.PI * index) / 64)),
}))

/**
 * M(t)/G/infinity with a sinusoidal rate (Eick, Massey and Whitt 1993): the mean number in the system at a time is again a sine,
 * smaller and later. The Fourier transform of the stationary excess of the service time gives both.
 */
function meanPresentAt(ms: number, law: 'exponential' | 'constant'): number {
	const gamma = (2 * Math.PI) / PERIOD_MS
	const angle = gamma * ms
	if (law === 'exponential') {
		const mu = 1 / MEAN_MS
		const swing = mu * Math.sin(angle) - gamma * Math.cos(angle)
		return PER_MS * MEAN_MS + (AMPLITUDE / (mu ** 2 + gamma ** 2)) * swing
	}
	// For a constant time the number is the integral of the rate over that time.
	return PER_MS * MEAN_MS + (AMPLITUDE / gamma) * (Math.cos(angle - gamma * MEAN_MS) - Math.cos(angle))
}

/** The number of calls in flight at this time of a period, mean over the periods, for 24 seeds. */
const present = (phaseMs: number, serviceTimeMs: Distribution): readonly number[] =>
	Array.from({ length: 24 }, (_, seed) => {
		const simulation = new Simulation({
			seed,
			durationMs: (WARM_UP + PERIODS) * PERIOD_MS,
			services: { api: { workers: Infinity, serviceTimeMs } },
			clients: { web: { to: 'api', arrivals: { kind: 'curve', points: sine, repeatEveryMs: PERIOD_MS } } },
		})
		let sum = 0
		for (let period = WARM_UP; period < WARM_UP + PERIODS; period++) {
			simulation.advance(period * PERIOD_MS + phaseMs)
			const { calls, good } = simulation.progress
			sum += calls - good
		}
		return sum / PERIODS
	})

describe('a service without a queue under a sinusoidal load has the number of calls of Eick, Massey and Whitt', () => {
	test.each([0, 0.25, 0.5, 0.75])('holds at %f of the period', (share) => {
		const phaseMs = share * PERIOD_MS
		const exponential = present(phaseMs, { kind: 'exponential', meanMs: MEAN_MS })
		expectAgreement(exponential, meanPresentAt(phaseMs, 'exponential'), 0.06)
		expectAgreement(present(phaseMs, MEAN_MS), meanPresentAt(phaseMs, 'constant'), 0.06)
	})
})

describe('a request with n parallel calls', () => {
	test.each([2, 5, 20])('takes as long as the slowest of %i, and is slow if one of them is', (calls) => {
		const meanMs = 10
		const stretches = runs({
			durationMs: 60_000,
			services: {
				api: {
					workers: Infinity,
					serviceTimeMs: 0,
					dependsOn: Array.from({ length: calls }, (_, index) => ({ to: 'leaf', parallel: index > 0 })),
				},
				leaf: { workers: Infinity, serviceTimeMs: { kind: 'exponential', meanMs } },
			},
			clients: {
				web: {
					to: 'api',
					arrivals: { kind: 'poisson', perSecond: 100 },
					// The 99th percentile of a single call.
					goodWithinMs: meanMs * Math.log(100),
				},
			},
		})
		expectAgreement(samples(stretches, meanLatency), meanOfSlowest(calls, meanMs))
		expectAgreement(samples(stretches, lateShare), slowShare(calls), 0.1)
	})
})
