/**
 * A thousand clients lose their service for a minute, all at the same time. Without jitter they all come back
 * in the same second: the service accepts a fifth of them, and the others wait for the next round. Any jitter
 * spreads them to a rate that the service can handle.
 */
import type { VariantStudy } from '../run/study.ts'
import type { LayerOptions } from '../scenario/layers.ts'
import type { Scenario } from '../scenario/scenario.ts'

/** The mail scenario compares them too. */
export const STRATEGIES: Readonly<Record<string, LayerOptions['retry']>> = {
	'constant delay': { growth: 'constant', jitterStrategy: 'none' },
	'exponential, no jitter': { jitterStrategy: 'none' },
	'equal jitter': { jitterStrategy: 'equal' },
	'full jitter': { jitterStrategy: 'full' },
	'decorrelated jitter': { jitterStrategy: 'decorrelated' },
}

const CLIENTS = 1_000
const OUTAGE_MS = 60_000
/** At this cap the mean delay of full jitter is 15 s: a thousand clients make 67 requests per second. */
const MAX_DELAY_MS = 30_000

const scenarioOf = (strategy: LayerOptions['retry']): Scenario => ({
	until: 'idle',
	stepMs: 1_000,
	services: {
		// Processes 100 requests per second and queues as many. The others get a 503.
		api: {
			workers: 20,
			serviceTimeMs: { kind: 'exponential', meanMs: 200 },
			queue: { limit: 100 },
			faults: [{ kind: 'outage', fromMs: 0, toMs: OUTAGE_MS }],
		},
	},
	clients: {
		// Each client is a process that makes one call, in the first second of the outage.
		web: {
			to: 'api',
			arrivals: { kind: 'closed', users: CLIENTS, callsEach: 1, startWithinMs: 1_000 },
			policy: 'client',
		},
	},
	policies: {
		client: [{ retry: { baseDelayMs: 5_000, maxDelayMs: MAX_DELAY_MS, maxRetries: 1_000, ...strategy } }],
	},
})

export const herd: VariantStudy = {
	title: 'Thundering herd',
	description:
		'A thousand clients call during an outage of a minute. Look at the first seconds after it: whether they come all together or ' +
		'as a stream, and how long it takes until the last call succeeds.',
	replications: 10,
	measures: ['peakPerSecond', 'requests', 'amplification', 'recoveredAfterMs'],
	variants: Object.fromEntries(
		Object.entries(STRATEGIES).map(([name, strategy]) => [name, scenarioOf(strategy)]),
	),
}
