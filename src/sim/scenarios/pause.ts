/**
 * A database fails over and stands still for ten seconds. It loses nothing: it keeps its queue, and that is
 * the problem. What was queued is older than its callers' timeouts, so the service works at full capacity on
 * requests that have no caller, until the backlog is gone: load x pause / (1 - load). Retries multiply the
 * load, and if that exceeds the capacity the backlog never ends.
 */
import type { VariantStudy } from '../run/study.ts'
import type { PolicyLayer } from '../scenario/layers.ts'
import type { QueueModel, Scenario } from '../scenario/scenario.ts'

/** Two workers at 100 ms. */
const CAPACITY_PER_SECOND = 20

const RETRY = { maxRetries: 3, baseDelayMs: 200 }
const timeoutOnly: readonly PolicyLayer[] = [{ timeoutMs: 2_000 }]
const retries: readonly PolicyLayer[] = [{ retry: RETRY }, { timeoutMs: 2_000 }]
const withBudget: readonly PolicyLayer[] = [
	{ retry: { ...RETRY, budget: { maxRetryRatio: 0.1, minRetriesPerSecond: 0 } } },
	{ timeoutMs: 2_000 },
]

const scenarioOf = (load: number, policy: readonly PolicyLayer[], queue?: QueueModel): Scenario => ({
	until: 'idle',
	stepMs: 500,
	services: {
		database: {
			workers: 2,
			serviceTimeMs: { kind: 'exponential', meanMs: 100 },
			queue,
			faults: [{ kind: 'pause', fromMs: 10_000, toMs: 20_000 }],
		},
	},
	clients: {
		web: {
			to: 'database',
			arrivals: { kind: 'poisson', perSecond: load * CAPACITY_PER_SECOND, toMs: 140_000 },
			policy: 'client',
		},
	},
	policies: { client: policy },
})

export const pause: VariantStudy = {
	title: 'A pause that keeps the backlog',
	description:
		'A database stands still for 10 s and keeps its queue, at 50 %, 70 % and 80 % of its capacity. Callers wait for 2 s. Look at how long ' +
		'its work is wasted after the pause.',
	replications: 10,
	measures: ['goodShare', 'amplification', 'wastedShare'],
	chart: 'work',
	variants: {
		'50 % busy: no retries': scenarioOf(0.5, timeoutOnly),
		'70 % busy: no retries': scenarioOf(0.7, timeoutOnly),
		'80 % busy: no retries': scenarioOf(0.8, timeoutOnly),
		'50 % busy: 3 retries': scenarioOf(0.5, retries),
		'80 % busy: 3 retries': scenarioOf(0.8, retries),
		'80 % busy: 3 retries, budget': scenarioOf(0.8, withBudget),
		'80 % busy: 3 retries, expired dropped': scenarioOf(0.8, retries, { dropExpired: true }),
		'80 % busy: 3 retries, at most 1 s old': scenarioOf(0.8, retries, { maxAgeMs: 1_000 }),
		'80 % busy: 3 retries, queue of 20': scenarioOf(0.8, retries, { limit: 20 }),
	},
}
