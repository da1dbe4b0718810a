/**
 * Load balancers against closed forms, published limits and numerically solved chains. 8 intervals, so with fresh seeds about one
 * run in 125 would raise a false alarm.
 */
import { describe, expect, test } from 'vitest'
import type { Scenario } from 'yaoki/sim'
import { expectAgreement, meanLatency, runs, samples } from './agreement.ts'
import { roundRobinLatency, shortestOfTwoLatency, twoChoicesLatency } from './balancer-forms.ts'

const MEAN_MS = 10

type Strategy = 'round-robin' | 'least-requests' | 'two-choices' | 'random'

function balanced(strategy: Strategy, instances: number, load: number, calls: number): Scenario {
	const perSecond = (instances * load * 1_000) / MEAN_MS
	return {
		durationMs: (calls / perSecond) * 1_000,
		services: {
			api: { instances, loadBalancer: { strategy }, serviceTimeMs: { kind: 'exponential', meanMs: MEAN_MS } },
		},
		clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond } } },
	}
}

const latencies = (scenario: Scenario) => samples(runs(scenario, 0.2), meanLatency)

describe('the mean latency behind a load balancer', () => {
	test.each([0.5, 0.8])('equals that of single queues with random choices, at a load of %f', (load) => {
		expectAgreement(
			latencies(balanced('random', 4, load, load > 0.7 ? 60_000 : 15_000)),
			MEAN_MS / (1 - load),
		)
	})

	test.each([
		[2, 0.5, 15_000],
		[4, 0.8, 60_000],
	])('with round-robin and %i instances is that of an Erlang queue at a load of %f', (n, load, calls) => {
		expectAgreement(latencies(balanced('round-robin', n, load, calls)), MEAN_MS * roundRobinLatency(n, load))
	})

	test.each([
		[0.5, 20_000],
		[0.7, 40_000],
	])('with two choices among 400 instances is the published limit at a load of %f', (load, calls) => {
		expectAgreement(latencies(balanced('two-choices', 400, load, calls)), MEAN_MS * twoChoicesLatency(load))
	})

	test.each([
		[0.5, 15_000],
		[0.8, 80_000],
	])('with the fewest requests of two is that of the solved chain at a load of %f', (load, calls) => {
		expectAgreement(
			latencies(balanced('least-requests', 2, load, calls)),
			MEAN_MS * shortestOfTwoLatency(load),
		)
	})
})

test('the forms agree with published values', () => {
	// Mitzenmacher's table: 1.2657 at 0.5, 1.6145 at 0.7 and 2.6141 at 0.9.
	expect(twoChoicesLatency(0.5)).toBeCloseTo(1.2657, 4)
	expect(twoChoicesLatency(0.7)).toBeCloseTo(1.6145, 4)
	expect(twoChoicesLatency(0.9)).toBeCloseTo(2.6141, 4)
	expect(roundRobinLatency(1, 0.5)).toBeCloseTo(2, 9)
	// The shortest of two queues lies between one queue for both and a random one.
	expect(shortestOfTwoLatency(0.5)).toBeGreaterThan(1 / (1 - 0.25))
	expect(shortestOfTwoLatency(0.5)).toBeLessThan(2)
})
