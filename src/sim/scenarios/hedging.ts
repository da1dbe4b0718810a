/**
 * One read in a hundred is ten times slower than most. Sent after the 95th percentile, a second request
 * removes nearly a third of the tail for one request in twenty, if workers are idle. Sent immediately it
 * removes more, for twice the requests. On a busy service both make the tail longer, unless the server drops
 * expired requests; and two requests per call exceed its capacity.
 */
import type { VariantStudy } from '../run/study.ts'
import type { PolicyLayer } from '../scenario/layers.ts'
import type { QueueModel, Scenario } from '../scenario/scenario.ts'

/** Ten workers process 306 requests per second: this lognormal distribution has a mean of 33 ms. */
const CAPACITY_PER_SECOND = 306

const BUDGET = { maxRetryRatio: 0.1, minRetriesPerSecond: 0 }
const none: readonly PolicyLayer[] = []
const atP95: readonly PolicyLayer[] = [{ hedge: { percentile: 95 } }]
const atP95WithBudget: readonly PolicyLayer[] = [{ hedge: { percentile: 95, budget: BUDGET } }]
const immediate: readonly PolicyLayer[] = [{ hedge: { delayMs: 0 } }]

const scenarioOf = (load: number, policy: readonly PolicyLayer[], queue?: QueueModel): Scenario => ({
	until: 'idle',
	stepMs: 500,
	services: {
		reads: {
			workers: 10,
			serviceTimeMs: { kind: 'lognormal', medianMs: 20, p99Ms: 200 },
			queue: { limit: 300, ...queue },
		},
	},
	clients: {
		pages: {
			to: 'reads',
			arrivals: { kind: 'poisson', perSecond: load * CAPACITY_PER_SECOND, toMs: 30_000 },
			policy: 'hedged',
		},
	},
	policies: { hedged: policy },
})

export const hedging: VariantStudy = {
	title: 'Hedging',
	description:
		'A service with a long tail, at 30 % and at 80 % of its capacity. Look at the 99th percentile, and at the wasted work.',
	replications: 10,
	measures: ['p50Ms', 'p99Ms', 'amplification', 'wastedShare', 'goodShare'],
	chart: 'work',
	variants: {
		'30 % busy: no hedge': scenarioOf(0.3, none),
		'30 % busy: hedge after p95, budget': scenarioOf(0.3, atP95WithBudget),
		'30 % busy: hedge immediately': scenarioOf(0.3, immediate),
		'80 % busy: no hedge': scenarioOf(0.8, none),
		'80 % busy: hedge after p95, budget': scenarioOf(0.8, atP95WithBudget),
		'80 % busy: hedge after p95, no budget': scenarioOf(0.8, atP95),
		'80 % busy: hedge after p95, expired dropped': scenarioOf(0.8, atP95, { dropExpired: true }),
		'80 % busy: hedge immediately': scenarioOf(0.8, immediate),
	},
}
