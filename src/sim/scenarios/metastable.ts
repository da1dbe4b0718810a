/**
 * A service is slow for a moment, and never comes back: its queue is full of requests that nobody waits for any more, it works on
 * them all the same, and those who gave up come again. The load alone would be bearable; the retries keep it up. Jitter spreads
 * them and takes none of them away. What ends it takes load away: a budget, a breaker, a queue with an end, or a server that
 * throws away what can not be answered in time any more. To throw away only what has expired is too late.
 */
import type { GridStudy } from '../run/study.ts'
import type { PolicyLayer } from '../scenario/layers.ts'
import type { QueueModel, Scenario } from '../scenario/scenario.ts'

const WORKERS = 5
/** With a mean of 200 ms. */
const SERVICE_TIME = { kind: 'lognormal', medianMs: 190, p99Ms: 402 } as const
const CAPACITY_PER_SECOND = 25
const TRIGGER_AT_MS = 4_000
/** So long it may take to recover. */
const PATIENCE_MS = 20_000

interface Cure {
	readonly policy: readonly PolicyLayer[]
	readonly queue?: QueueModel
}

const retry = { maxRetries: 3, baseDelayMs: 100, maxDelayMs: 2_000 }
const timeout: PolicyLayer = { timeout: 1_000 }
const jittered: readonly PolicyLayer[] = [{ retry }, timeout]

const CURES: Readonly<Record<string, Cure>> = {
	'full jitter': { policy: jittered },
	'jitter and a budget': {
		policy: [{ retry: { ...retry, budget: { maxRetryRatio: 0.1, minRetriesPerSecond: 1 } } }, timeout],
	},
	'jitter and a breaker': {
		policy: [
			{ retry },
			{
				circuitBreaker: {
					errorRateThreshold: 0.5,
					minimumRequests: 20,
					monitorWindowMs: 2_000,
					resetTimeoutMs: 2_000,
				},
			},
			timeout,
		],
	},
	'jitter, queue of 12': { policy: jittered, queue: { limit: 12 } },
	'jitter, drops expired': { policy: jittered, queue: { dropExpired: true } },
	'jitter, drops after 500 ms': { policy: jittered, queue: { maxAgeMs: 500 } },
}

const at = (load: number, triggerMs: number, cure: string): Scenario => {
	const { policy, queue = {} } = CURES[cure] ?? { policy: [] }
	const triggerEnds = TRIGGER_AT_MS + triggerMs
	return {
		duration: triggerEnds + PATIENCE_MS,
		until: 'recovered',
		stepMs: 1_000,
		services: {
			api: {
				workers: WORKERS,
				serviceTime: SERVICE_TIME,
				queue,
				faults: [{ kind: 'slowdown', factor: 3, fromMs: TRIGGER_AT_MS, toMs: triggerEnds }],
			},
		},
		clients: {
			web: {
				to: 'api',
				arrivals: { kind: 'poisson', perSecond: load * CAPACITY_PER_SECOND },
				policy: 'client',
			},
		},
		policies: { client: policy },
	}
}

export const metastable: GridStudy = {
	title: 'Metastable failure',
	description:
		'A service at a load it can bear is three times slower for a moment. Each cell is the share of runs in which it recovered ' +
		'within 20 seconds of the moment’s end.',
	replications: 20,
	x: { label: 'load, as a share of capacity', values: [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9] },
	y: {
		label: 'how long it was slow',
		values: [250, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 10_000],
		format: (ms) => `${ms / 1_000} s`,
	},
	panels: Object.keys(CURES),
	at,
	cell: 'recovered',
}
