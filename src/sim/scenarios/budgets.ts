/**
 * Which budget does what? Five processes retry three times on a bad day: one request in twenty fails for a while, then three in
 * ten, then all. No budget saves the most calls and quadruples the traffic of the outage. A ratio bounds the traffic whatever happens;
 * tokens stop almost at once; a quota helps as long as helping works. A ratio's floor is for each process, and they add up.
 */
import type { VariantStudy } from '../run/study.ts'
import type { BudgetModel } from '../scenario/budgets.ts'
import type { Fault, Scenario } from '../scenario/scenario.ts'

/** With pauses between them, long enough for every budget to be full again. */
const BAD_DAY: readonly Fault[] = [
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
			serviceTime: { kind: 'exponential', meanMs: 50 },
			queue: { limit: 100 },
			faults: BAD_DAY,
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
	title: 'Which budget does what',
	description:
		'Five processes retry three times, with one budget each, while 5 % of the requests fail, then 30 %, then all. Look at the ' +
		'calls that are saved while some fail, and at the requests that are sent in vain while all do.',
	replications: 10,
	measures: ['goodShare', 'amplification', 'retries', 'peakPerSecond'],
	variants: {
		'no budget': scenarioOf(),
		'a ratio': scenarioOf({ kind: 'ratio', maxRetryRatio: 0.1, minRetriesPerSecond: 1 }),
		'a ratio, floor of 10/s': scenarioOf({ kind: 'ratio', maxRetryRatio: 0.1, minRetriesPerSecond: 10 }),
		tokens: scenarioOf({ kind: 'tokens', maxTokens: 10, tokenRatio: 0.1 }),
		'a quota': scenarioOf({ kind: 'quota', capacity: 100, retryCost: 5 }),
	},
}
