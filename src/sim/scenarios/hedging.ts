/**
 * One read in a hundred is ten times slower than most. Does a second request help? Sent after the 95th percentile it takes nearly
 * a third of the tail away for one request in twenty, as long as there are idle workers. At once it takes more, for twice the
 * requests. On a busy service both make the tail longer, unless the server drops what nobody waits for any more; and two requests for
 * each call are more than it can do at all.
 */
import type { VariantStudy } from '../run/study.ts'
import type { PolicyLayer } from '../scenario/layers.ts'
import type { QueueModel, Scenario } from '../scenario/scenario.ts'

/** Ten workers can do 306 a second: a lognormal law with this median and this tail has a mean of 33 ms. */
const CAPACITY_PER_SECOND = 306

const TENTH = { maxRetryRatio: 0.1, minRetriesPerSecond: 0 }
const none: readonly PolicyLayer[] = []
const atP95: readonly PolicyLayer[] = [{ hedge: { percentile: 95 } }]
const atP95WithBudget: readonly PolicyLayer[] = [{ hedge: { percentile: 95, budget: TENTH } }]
const atOnce: readonly PolicyLayer[] = [{ hedge: { delayMs: 0 } }]

const scenarioOf = (load: number, policy: readonly PolicyLayer[], queue?: QueueModel): Scenario => ({
	until: 'idle',
	stepMs: 500,
	services: {
		reads: {
			workers: 10,
			serviceTime: { kind: 'lognormal', medianMs: 20, p99Ms: 200 },
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
		'A service with a long tail, at 30 % and at 80 % of what it can do. Look at the 99th percentile, and at the work that was ' +
		'done for nobody.',
	replications: 10,
	measures: ['p50Ms', 'p99Ms', 'amplification', 'wastedShare', 'goodShare'],
	chart: 'work',
	variants: {
		'30 % busy: no hedge': scenarioOf(0.3, none),
		'30 % busy: after p95, with a budget': scenarioOf(0.3, atP95WithBudget),
		'30 % busy: at once': scenarioOf(0.3, atOnce),
		'80 % busy: no hedge': scenarioOf(0.8, none),
		'80 % busy: after p95, with a budget': scenarioOf(0.8, atP95WithBudget),
		'80 % busy: after p95, without': scenarioOf(0.8, atP95),
		'80 % busy: after p95, losers dropped': scenarioOf(0.8, atP95, { dropExpired: true }),
		'80 % busy: at once': scenarioOf(0.8, atOnce),
	},
}
