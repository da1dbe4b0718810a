/**
 * A service is down, and every client has a circuit breaker: how long does the outage last for callers after
 * the service is back, and what do probes cost a service that is down or has just started? The breakers are
 * around the retries, as in HTTP clients, so a probe is a call with its retries. Each client sends as many
 * calls as any other, so that a fleet of 500 has a service of 500 times the size.
 */
import { recoveringBreaker } from '../../core/circuit-breaker/options.ts'
import type { VariantStudy } from '../run/study.ts'
import type { LayerOptions, PolicyLayer } from '../scenario/layers.ts'
import type { Scenario } from '../scenario/scenario.ts'

type Breaker = LayerOptions['circuitBreaker']

/** Calls that each client starts per second. */
export const CALLS_PER_SECOND = 4
export const CHAIN_CALLS_PER_SECOND = 30
export const DOWN_AT_MS = 5_000
/** How long calls are started after the outage. */
const AFTER_MS = 40_000

export interface Outage {
	readonly downMs: number
	readonly clients: number
	/** True: caches are cold after the outage, and requests take 2.5 times as long at first. */
	readonly isCold?: boolean
	/** Default: no breaker. */
	readonly breaker?: Breaker
}

const layersOf = (breaker: Breaker | undefined): readonly PolicyLayer[] => [
	...(breaker ? [{ circuitBreaker: breaker }] : []),
	{ retry: { maxRetries: 3, budget: { maxRetryRatio: 0.1, minRetriesPerSecond: 10 } } },
	{ timeoutMs: 10_000 },
]

export function outageScenario({ downMs, clients, isCold = false, breaker }: Outage): Scenario {
	const perSecond = CALLS_PER_SECOND * clients
	// Seven tenths of the capacity are used, or less if the service is small.
	const workers = Math.ceil((perSecond * 0.1) / 0.7)
	const toMs = DOWN_AT_MS + downMs
	return {
		durationMs: toMs + AFTER_MS,
		stepMs: downMs > 20_000 ? 2_500 : 500,
		services: {
			api: {
				workers,
				serviceTimeMs: { kind: 'exponential', meanMs: 100 },
				queue: { limit: 20 * workers },
				faults: [
					{
						kind: 'restart',
						fromMs: DOWN_AT_MS,
						toMs,
						...(isCold ? { coldFactor: 2.5, warmUpMs: 20_000 } : {}),
					},
				],
			},
		},
		clients: {
			web: { to: 'api', instances: clients, arrivals: { kind: 'poisson', perSecond }, policy: 'client' },
		},
		policies: { client: layersOf(breaker) },
	}
}

/** Starts at 1 s; one probe at a time. */
const growing = (factor: number, resetTimeoutMs: number, halfOpenMaxConcurrent = 1): Breaker => ({
	resetTimeoutMs,
	halfOpenMaxConcurrent,
	resetBackoff: { factor },
})

export const OPEN_TIMES: Readonly<Record<string, Breaker | undefined>> = {
	'no breaker': undefined,
	'30 s': {},
	'5 s': { resetTimeoutMs: 5_000 },
	'1 s': { resetTimeoutMs: 1_000 },
	'x 2, to 30 s': growing(2, 30_000),
	'x 1.5, to 30 s': growing(1.5, 30_000),
	'x 1.5, to 10 s': growing(1.5, 10_000),
	'x 1.5, to 2 s': growing(1.5, 2_000),
	'x 1.5, to 2 s, 2 probes (default)': recoveringBreaker({}),
	'x 1.5, to 2 s, 3 probes': growing(1.5, 2_000, 3),
}

/** A call passes three services before it reaches the one that is down, and each has a breaker. */
export function chainScenario(downMs: number, circuitBreaker: Breaker): Scenario {
	const hop = (to: string) => ({ workers: Infinity, serviceTimeMs: 5, dependsOn: [{ to, policy: 'hop' }] })
	return {
		durationMs: DOWN_AT_MS + downMs + AFTER_MS,
		stepMs: downMs > 20_000 ? 2_500 : 500,
		services: {
			storefront: hop('orders'),
			orders: hop('payments'),
			payments: hop('bank'),
			bank: {
				workers: 9,
				serviceTimeMs: 200,
				faults: [{ kind: 'outage', fromMs: DOWN_AT_MS, toMs: DOWN_AT_MS + downMs }],
			},
		},
		clients: { web: { to: 'storefront', arrivals: { kind: 'poisson', perSecond: CHAIN_CALLS_PER_SECOND } } },
		policies: { hop: layersOf(circuitBreaker) },
	}
}

export const breakers: VariantStudy = {
	title: 'Open times of circuit breakers',
	description:
		'A service of 20 clients is down for 20 s. Look at how many calls still fail when it is back, and at how many requests it gets while it is ' +
		'down.',
	replications: 10,
	measures: ['goodShare', 'amplification', 'recoveredAfterMs', 'peakPerSecond'],
	variants: Object.fromEntries(
		Object.entries(OPEN_TIMES).map(([name, breaker]) => [
			name,
			outageScenario({ downMs: 20_000, clients: 20, ...(breaker && { breaker }) }),
		]),
	),
}
