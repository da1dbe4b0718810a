/**
 * Compares retry budgets. Five processes retry three times while 5 % of the requests fail, then 30 %, then
 * all. No budget saves the most calls and quadruples the traffic of the outage. A ratio always limits the
 * traffic; tokens stop almost immediately; a quota continues while retries succeed. The floor of a ratio is
 * per process, and the floors add up.
 */
import type { VariantStudy } from '../run/study.ts'
import type { BudgetModel } from '../scenario/layers.ts'
import type { Fault, Scenario } from '../scenario/scenario.ts'

/** The pauses between the faults are long enough to refill every budget. */
const FAULTS: readonly Fault[] = [
	{ kind: 'errors', rate: 0.05, fromMs: 10_000, toMs: 30_000 },
	{ kind: 'errors', rate: 0.3, fromMs: 40_000, toMs: 60_000 },
	{ kind: 'outage', fromMs: 70_000, toMs: 90_000 },
]

const scenarioOf = (budget?: BudgetModel): Scenario => ({
	until: 'idle',
	stepMs: 1_000,
	services: {
		api: {
			workers: 10,
			serviceTimeMs: { kind: 'exponential', meanMs: 50 },
			queue: { limit: 100 },
			faults: FAULTS,
		},
	},
	clients: {
		web: {
			to: 'api',
			arrivals: { kind: 'poisson', perSecond: 50, toMs: 100_000 },
			instances: 5,
			policy: 'client',
		},
	},
	policies: { client: [{ retry: { maxRetries: 3, baseDelayMs: 100, budget } }] },
})

export const budgets: VariantStudy = {
	title: 'Retry budgets compared',
	description:
		'Five processes retry three times, with one budget each, while 5 % of the requests fail, then 30 %, then all. Look at the ' +
		'calls that succeed while some requests fail, and at the useless requests while all fail.',
	replications: 10,
	measures: ['goodShare', 'amplification', 'retries', 'peakPerSecond'],
	variants: {
		'no budget': scenarioOf(),
		'ratio budget': scenarioOf({ kind: 'ratio', maxRetryRatio: 0.1, minRetriesPerSecond: 1 }),
		'ratio budget, floor 10/s': scenarioOf({ kind: 'ratio', maxRetryRatio: 0.1, minRetriesPerSecond: 10 }),
		'token budget': scenarioOf({ kind: 'tokens', maxTokens: 10, tokenRatio: 0.1 }),
		'quota budget': scenarioOf({ kind: 'quota', capacity: 100, retryCost: 5 }),
	},
}
