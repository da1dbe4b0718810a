/**
 * A shop shows reviews on three pages in ten, and the reviews become fifty times slower. The other seven fail
 * too, because every worker of the shop waits for reviews. A timeout helps only if it is short enough to
 * leave workers free. A bulkhead sets that number directly. A fallback saves the three pages as well.
 */
import { bulkhead } from '../../core/bulkhead/bulkhead.ts'
import { circuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import { pipeline } from '../../core/engine/pipeline.ts'
import { fallback } from '../../core/fallback/fallback.ts'
import type { VariantStudy } from '../run/study.ts'
import type { PolicyModel } from '../scenario/layers.ts'
import type { Scenario } from '../scenario/scenario.ts'

/** Limits the workers of the shop that wait for reviews. Normally it is one or two. */
const BULKHEAD = { maxConcurrent: 6, maxQueue: 0 }
const BREAKER = {
	slowCallMs: 400,
	minimumRequests: 10,
	monitorWindowMs: 5_000,
	resetTimeoutMs: 2_000,
	probeTimeoutMs: 2_000,
}

const scenarioOf = (policy: PolicyModel): Scenario => ({
	until: 'idle',
	stepMs: 500,
	services: {
		shop: {
			workers: 20,
			serviceTimeMs: { kind: 'exponential', meanMs: 40 },
			queue: { limit: 50 },
			dependsOn: [{ to: 'reviews', share: 0.3, policy: 'reviews' }],
		},
		reviews: {
			workers: Infinity,
			serviceTimeMs: { kind: 'exponential', meanMs: 40 },
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
		'Three pages in ten need the reviews, which are fifty times slower for 20 s. Look at the share of pages that succeed within a ' +
		'second. Without any reviews it would be seven in ten.',
	replications: 10,
	measures: ['goodShare', 'p50Ms', 'p99Ms', 'recoveredAfterMs'],
	chart: 'responses',
	variants: {
		'no policy': scenarioOf([]),
		'timeout 1 s': scenarioOf([{ timeoutMs: 1_000 }]),
		'timeout 250 ms': scenarioOf([{ timeoutMs: 250 }]),
		bulkhead: scenarioOf([{ bulkhead: BULKHEAD }]),
		'bulkhead and breaker': scenarioOf([{ bulkhead: BULKHEAD }, { circuitBreaker: BREAKER }]),
		// A fallback is user code, which data cannot contain, so a function creates the policy.
		'bulkhead, breaker, fallback': scenarioOf(() =>
			pipeline(fallback('no reviews'), bulkhead(BULKHEAD), circuitBreaker(BREAKER)),
		),
	},
}
