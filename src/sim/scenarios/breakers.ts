/**
 * A service is down, and every client has a circuit breaker: how long does the outage last for callers after the service is back, and what do
 * probes cost a service that is down or has just started? The breakers are around the retries, as in HTTP clients, so a probe is a
 * call with its retries. Each client sends as many calls as any other, so that a fleet of 500 has a service of 500 times the size.
 */
import { RECOVERING_BREAKER } from '../../core/circuit-breaker/options.ts'
import type { VariantStudy } from '../run/study.ts'
import type { LayerOptions, PolicyLayer } from '../scenario/layers.ts'
import type { Scenario } from '../scenario/scenario.ts'

type Breaker = LayerOptions['circuitBreaker']

/** Calls that each client starts per second. */
export const CALLS_PER_SECOND = 4
/** When the service goes down. */
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

export function outageScenario({ downMs, clients, isCold = false, breaker }: Outage): Scenario {
	const perSecond = CALLS_PER_SECOND * clients
	// Seven tenths of the capacity are used, or less if the service is small.
	const workers = Math.ceil((perSecond * 0.1) / 0.7)
	const toMs = DOWN_AT_MS + downMs
	const layers: readonly PolicyLayer[] = [
		...(breaker ? [{ circuitBreaker: breaker }] : []),
		{ retry: { maxRetries: 3, budget: { maxRetryRatio: 0.1, minRetriesPerSecond: 10 } } },
		{ timeout: 10_000 },
	]
	return {
		duration: toMs + AFTER_MS,
		stepMs: downMs > 20_000 ? 2_500 : 500,
		services: {
			api: {
				workers,
				serviceTime: { kind: 'exponential', meanMs: 100 },
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
		policies: { client: layers },
	}
}

const growing = (factor: number, more: Breaker = {}): Breaker => ({
	...RECOVERING_BREAKER,
	...more,
	resetBackoff: { factor },
})

/** The breakers that are compared, by name. */
export const OPEN_TIMES: Readonly<Record<string, Breaker | undefined>> = {
	'no breaker': undefined,
	'open for 30 s': {},
	'open for 5 s': { resetTimeoutMs: 5_000 },
	'open for 1 s': { resetTimeoutMs: 1_000 },
	'from 1 s, x 2': growing(2),
	'from 1 s, x 1.5 (default)': growing(1.5),
	'from 1 s, x 1.25': growing(1.25),
	'from 1 s, x 1.5, 3 probes': growing(1.5, { halfOpenMaxConcurrent: 3 }),
	'from 1 s, x 1.5, 1 success': growing(1.5, { successThreshold: 1 }),
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
