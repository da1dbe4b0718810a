/** Scenarios for searches. */
import type { Scenario, TuneOptions } from 'yaoki/sim'

/** Batches of calls, all at the same moment, to a small service that is slow for a while: without jitter they return together. */
export const storm: Scenario = {
	durationMs: 10_000,
	stepMs: 1_000,
	services: {
		api: {
			workers: 10,
			serviceTimeMs: { kind: 'exponential', meanMs: 20 },
			queue: { limit: 40 },
			faults: [{ kind: 'slowdown', factor: 4, fromMs: 2_500, toMs: 4_500 }],
		},
	},
	clients: {
		jobs: {
			to: 'api',
			arrivals: {
				kind: 'trace',
				atMs: Array.from({ length: 1_200 }, (_, call) => 1_000 * Math.floor(call / 200)),
			},
			policy: 'client',
		},
	},
	policies: {
		client: [{ retry: { maxRetries: 4, baseDelayMs: 400, maxDelayMs: 5_000, jitterStrategy: 'none' } }],
	},
}

/** Neither another jitter nor fewer retries satisfies both alone. */
export const stormOptions: TuneOptions = {
	constraints: { goodShare: { atLeast: 0.9 }, p99Ms: { atMost: 1_500 }, amplification: { atMost: 2.2 } },
	objective: 'amplification',
	replications: 3,
}

/** Two policies in a chain. A run takes about a millisecond. */
export const chain: Scenario = {
	durationMs: 1_500,
	stepMs: 500,
	services: {
		web: { workers: 4, serviceTimeMs: 5, dependsOn: [{ to: 'db', policy: 'toDb' }] },
		db: {
			workers: 2,
			serviceTimeMs: { kind: 'exponential', meanMs: 15 },
			queue: { limit: 10 },
			faults: [{ kind: 'errors', rate: 0.5, fromMs: 500, toMs: 1_000 }],
		},
	},
	clients: { user: { to: 'web', arrivals: { kind: 'poisson', perSecond: 40 }, policy: 'toWeb' } },
	policies: {
		toWeb: [{ timeoutMs: 500 }],
		toDb: [{ retry: { maxRetries: 3, baseDelayMs: 10, maxDelayMs: 100 } }, { timeoutMs: 100 }],
	},
}
