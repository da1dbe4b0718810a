/**
 * A service is slow for a short time and never recovers: its queue is full of requests whose callers have
 * stopped waiting, it processes them anyway, and those callers retry. The load alone would be no problem; the
 * retries keep the service overloaded. Jitter spreads them and removes none. Recovery needs less load: a
 * budget, a breaker, a bounded queue, or a server that drops requests that can no longer be answered in time.
 * Dropping only expired requests is too late. At the highest loads a random burst of calls is enough, without
 * any fault: the page has the figures, and all settings, which a test compares with this file.
 */
import type { GridStudy } from '../run/study.ts'
import type { PolicyLayer } from '../scenario/layers.ts'
import type { QueueModel, Scenario } from '../scenario/scenario.ts'

const WORKERS = 5
/** The mean is 200 ms. */
const SERVICE_TIME = { kind: 'lognormal', medianMs: 190, p99Ms: 402 } as const
const CAPACITY_PER_SECOND = 25
const TRIGGER_AT_MS = 4_000
const RECOVERY_MS = 20_000

interface Remedy {
	readonly policy: readonly PolicyLayer[]
	readonly queue?: QueueModel
}

const retry = { maxRetries: 3, baseDelayMs: 100, maxDelayMs: 2_000 }
const timeout: PolicyLayer = { timeoutMs: 1_000 }
const jittered: readonly PolicyLayer[] = [{ retry }, timeout]

const REMEDIES: Readonly<Record<string, Remedy>> = {
	'full jitter': { policy: jittered },
	'jitter and budget': {
		policy: [{ retry: { ...retry, budget: { maxRetryRatio: 0.1, minRetriesPerSecond: 1 } } }, timeout],
	},
	'jitter and breaker': {
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

const at = (load: number, triggerMs: number, remedy: string): Scenario => {
	const { policy, queue = {} } = REMEDIES[remedy] ?? { policy: [] }
	const triggerEnds = TRIGGER_AT_MS + triggerMs
	return {
		durationMs: triggerEnds + RECOVERY_MS,
		stepMs: 1_000,
		services: {
			api: {
				workers: WORKERS,
				serviceTimeMs: SERVICE_TIME,
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
		'A service at a load that it can handle is three times slower for a short time. Each cell is the share of runs that recovered ' +
		'within 20 seconds of the end of that time. At loads of 0.85 and 0.9 it collapses now and then without any fault, too.',
	replications: 20,
	x: { label: 'load / capacity', values: [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9] },
	y: {
		label: 'length of the slow period',
		values: [250, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 10_000],
		format: (ms) => `${ms / 1_000} s`,
	},
	panels: Object.keys(REMEDIES),
	at,
	cell: 'recovered',
}
