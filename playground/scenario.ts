/** What the sliders say, as a scenario for the simulator and as layers of a policy. Pure, so that a test can run the same one in Node. */

import { type Distribution, meanOf } from '../src/sim/kernel/distribution.ts'
import type { BudgetModel } from '../src/sim/scenario/budgets.ts'
import type { PolicyLayer } from '../src/sim/scenario/layers.ts'
import { literal } from '../src/sim/scenario/literal.ts'
import type { Arrivals, ClientModel, Fault, Scenario, ServerModel } from '../src/sim/scenario/scenario.ts'
import type { Settings } from './settings.ts'

const DURATION_MS = 120_000
const FAULT_FROM_MS = 15_000

/** More would keep a browser busy for too long. The page says so when it comes to that. */
const MOST_EVENTS = 2_000_000

/** The service in front of the other, when there is one: its workers wait for the answers that it needs. */
const FRONT = { workers: 20, serviceMs: 20, share: 0.3 } as const

/** Names in the scenario. */
export const SERVICE = 'service'
export const SHOP = 'shop'
export const CALLERS = 'callers'
const POLICY = 'policy'

/** A scenario that ends by the clock. */
export type TimedScenario = Scenario & { readonly duration: number }

export function scenarioOf(settings: Settings): TimedScenario {
	const isBehind = settings.place === 'behind'
	return {
		seed: settings.seed,
		duration: DURATION_MS,
		maxEvents: MOST_EVENTS,
		services: { [SERVICE]: serviceOf(settings), ...(isBehind ? { [SHOP]: SHOP_MODEL } : {}) },
		clients: { [CALLERS]: isBehind ? customersOf(settings) : clientsOf(settings) },
		policies: { [POLICY]: layersOf(settings) },
	}
}

/** The scenario as a file of its own, for the command line. */
export const scenarioFile = (scenario: Scenario): string =>
	`import type { Scenario } from 'yaoki/sim'\n\nexport default ${literal(scenario)} satisfies Scenario\n`

/** Outermost first, as the guide recommends; what is off is left out. */
export function layersOf(settings: Settings): readonly PolicyLayer[] {
	const { bulkhead, bulkheadQueue, breaker, timeoutMs, retries } = settings
	const layers: PolicyLayer[] = []
	if (bulkhead < Infinity) layers.push({ bulkhead: { maxConcurrent: bulkhead, maxQueue: bulkheadQueue } })
	if (breaker !== 'off') layers.push(breakerOf(settings))
	if (retries > 0) layers.push(retryOf(settings))
	if (timeoutMs < Infinity) layers.push({ timeout: timeoutMs })
	return layers
}

function breakerOf({ breaker, breakerFailures, breakerRate, breakerResetMs }: Settings): PolicyLayer {
	const resetTimeoutMs = breakerResetMs
	if (breaker === 'consecutive')
		return { circuitBreaker: { failureThreshold: breakerFailures, resetTimeoutMs } }
	return {
		circuitBreaker: {
			failureThreshold: Infinity,
			errorRateThreshold: breakerRate,
			monitorWindowMs: 10_000,
			resetTimeoutMs,
		},
	}
}

function retryOf({ retries, baseMs, capMs, jitter, ...settings }: Settings): PolicyLayer {
	const budget = budgetOf(settings)
	return {
		retry: {
			maxRetries: retries,
			baseDelayMs: baseMs,
			maxDelayMs: capMs,
			jitterStrategy: jitter,
			...(budget ? { budget } : {}),
		},
	}
}

type BudgetSettings = Pick<Settings, 'budget' | 'budgetRatio' | 'budgetFloor' | 'budgetCapacity'>

function budgetOf({
	budget,
	budgetRatio,
	budgetFloor,
	budgetCapacity,
}: BudgetSettings): BudgetModel | undefined {
	if (budget === 'ratio') return { maxRetryRatio: budgetRatio, minRetriesPerSecond: budgetFloor }
	if (budget === 'tokens') return { kind: 'tokens', tokenRatio: budgetRatio }
	if (budget === 'quota') return { kind: 'quota', capacity: budgetCapacity }
	return undefined
}

function serviceOf({ workers, queueLimit, queueOrder, dropExpired, ...settings }: Settings): ServerModel {
	const faults = faultsOf(settings)
	return {
		workers,
		serviceTime: lawOf(settings),
		queue: { ...(queueLimit < Infinity ? { limit: queueLimit } : {}), order: queueOrder, dropExpired },
		...(faults.length > 0 ? { faults } : {}),
	}
}

/** The 99th percentile is ten times the median. */
const LONG_TAIL = { kind: 'lognormal', medianMs: 1, p99Ms: 10 } as const

/** All with the same mean, so that the capacity is the same. */
function lawOf({ serviceLaw, serviceMs }: Pick<Settings, 'serviceLaw' | 'serviceMs'>): Distribution {
	if (serviceLaw === 'exponential') return { kind: 'exponential', meanMs: serviceMs }
	if (serviceLaw === 'constant') return serviceMs
	const medianMs = serviceMs / meanOf(LONG_TAIL)
	return { ...LONG_TAIL, medianMs, p99Ms: LONG_TAIL.p99Ms * medianMs }
}

function faultsOf({
	fault,
	faultSeconds,
	slowdown,
	errorRate,
}: Pick<Settings, 'fault' | 'faultSeconds' | 'slowdown' | 'errorRate'>): readonly Fault[] {
	const span = { fromMs: FAULT_FROM_MS, toMs: FAULT_FROM_MS + faultSeconds * 1_000 }
	if (fault === 'none') return []
	if (fault === 'slowdown') return [{ kind: 'slowdown', ...span, factor: slowdown }]
	if (fault === 'errors') return [{ kind: 'errors', ...span, rate: errorRate, status: 503 }]
	return [{ kind: 'outage', ...span, mode: fault }]
}

const SHOP_MODEL: ServerModel = {
	workers: FRONT.workers,
	serviceTime: { kind: 'exponential', meanMs: FRONT.serviceMs },
	dependsOn: [{ to: SERVICE, policy: POLICY, share: FRONT.share }],
}

/** Calls a second that can be answered while nothing is wrong. */
export function capacityOf({ place, workers, serviceMs }: Settings): number {
	if (place === 'direct') return (workers / serviceMs) * 1_000
	const atShop = FRONT.workers / (FRONT.serviceMs + FRONT.share * serviceMs)
	return Math.min(atShop, workers / serviceMs / FRONT.share) * 1_000
}

function clientsOf(settings: Settings): ClientModel {
	return {
		to: SERVICE,
		arrivals: settings.arrivals === 'steady' ? steady(settings) : together(settings),
		policy: POLICY,
		instances: settings.clients,
		...goodWithin(settings),
	}
}

/** Those who call the shop have no policy of their own: it is the shop's way to the service that is looked at. */
const customersOf = (settings: Settings): ClientModel => ({
	to: SHOP,
	arrivals: steady(settings),
	...goodWithin(settings),
})

const steady = (settings: Settings): Arrivals => ({
	kind: 'poisson',
	perSecond: settings.load * capacityOf(settings),
})

/** Every client once, all in the same moment, when the fault has just begun. */
const together = ({ clients }: Settings): Arrivals => ({
	kind: 'trace',
	atMs: new Array<number>(clients).fill(FAULT_FROM_MS),
})

const goodWithin = ({ patienceMs }: Settings): { goodWithinMs?: number } =>
	patienceMs < Infinity ? { goodWithinMs: patienceMs } : {}
