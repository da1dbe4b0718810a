/**
 * A shop shows reviews on three pages in ten, and the reviews become fifty times slower. What happens to the other seven? They
 * die with them: every worker of the shop waits for reviews. A timeout saves them only if it is short enough that the waiting
 * ones leave some workers free. A bulkhead says so in a number. A fallback saves the three pages as well.
 */
import { bulkhead } from '../../core/bulkhead/bulkhead.ts'
import { circuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import { pipeline } from '../../core/engine/pipeline.ts'
import { fallback } from '../../core/fallback/fallback.ts'
import type { VariantStudy } from '../run/study.ts'
import type { PolicyModel, Scenario } from '../scenario/scenario.ts'

/** No more than so many of the shop's workers wait for reviews. On a good day it is one or two. */
const PLACES = { maxConcurrent: 6, maxQueue: 0 }
const BREAKER = { slowCallMs: 400, minimumRequests: 10, monitorWindowMs: 5_000, resetTimeoutMs: 2_000 }

const scenarioOf = (policy: PolicyModel): Scenario => ({
	until: 'idle',
	stepMs: 500,
	services: {
		shop: {
			workers: 20,
			serviceTime: { kind: 'exponential', meanMs: 40 },
			queue: { limit: 50 },
			dependsOn: [{ to: 'reviews', share: 0.3, policy: 'reviews' }],
		},
		reviews: {
			workers: Infinity,
			serviceTime: { kind: 'exponential', meanMs: 40 },
			faults: [{ kind: 'slowdown', factor: 50, fromMs: 20_000, toMs: 40_000 }],
		},
	},
	clients: {
		visitors: {
			to: 'shop',
			arrivals: { kind: 'poisson', perSecond: 100, toMs: 60_000 },
			goodWithinMs: 1_000,
		},
	},
	policies: { reviews: policy },
})

export const slowDependency: VariantStudy = {
	title: 'A slow dependency',
	description:
		'Three pages in ten need the reviews, which are fifty times slower for 20 s. Look at the share of all pages that came well ' +
		'and within a second. The shop without reviews would still be worth seven in ten.',
	replications: 10,
	measures: ['goodShare', 'p50Ms', 'p99Ms', 'recoveredAfterMs'],
	chart: 'responses',
	variants: {
		nothing: scenarioOf([]),
		'a timeout of 1 s': scenarioOf([{ timeout: 1_000 }]),
		'a timeout of 250 ms': scenarioOf([{ timeout: 250 }]),
		'a bulkhead': scenarioOf([{ bulkhead: PLACES }]),
		'a bulkhead and a breaker': scenarioOf([{ bulkhead: PLACES }, { circuitBreaker: BREAKER }]),
		// A fallback is a value of the user's own, so it is no layer as data: a function makes the policy as production would.
		'and a page without reviews': scenarioOf(() =>
			pipeline(fallback('no reviews'), bulkhead(PLACES), circuitBreaker(BREAKER)),
		),
	},
}
