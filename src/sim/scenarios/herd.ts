/**
 * A thousand clients lose their service for a minute, all at the same moment. How do they come back? Those without jitter come
 * back as they went, all at once: the service takes a fifth of them, and the others wait for the next round. Any jitter
 * makes an even stream of them that is below what the service can bear.
 */
import type { VariantStudy } from '../run/study.ts'
import type { LayerOptions } from '../scenario/layers.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { STRATEGIES } from './strategies.ts'

const CLIENTS = 1_000
const OUTAGE_MS = 60_000
/** A client that has waited so long does not wait longer next time: a thousand in 15 s, the mean of full jitter, are 67 a second. */
const MAX_DELAY_MS = 30_000

const scenarioOf = (strategy: LayerOptions['retry']): Scenario => ({
	until: 'idle',
	stepMs: 1_000,
	services: {
		// A hundred requests a second, and room for a second's worth of waiting ones. The others get a 503.
		api: {
			workers: 20,
			serviceTime: { kind: 'exponential', meanMs: 200 },
			queue: { limit: 100 },
			faults: [{ kind: 'outage', fromMs: 0, toMs: OUTAGE_MS }],
		},
	},
	clients: {
		// Each is a process of its own that makes one call, in the first second of the outage.
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
		'A thousand clients are caught by an outage of a minute. Look at the first seconds after it: whether they come as one or as ' +
		'a stream, and how long it takes until the last of them is served.',
	replications: 10,
	measures: ['peakPerSecond', 'requests', 'amplification', 'recoveredAfterMs'],
	variants: Object.fromEntries(
		Object.entries(STRATEGIES).map(([name, strategy]) => [name, scenarioOf(strategy)]),
	),
}
