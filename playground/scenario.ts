/** Converts settings into a scenario and policy layers. Pure, so that tests run the same scenario in Node. */
import { type Distribution, meanOf } from '../src/sim/kernel/distribution.ts'
import type { Arrivals } from '../src/sim/scenario/arrivals-model.ts'
import type { BudgetModel, PolicyLayer } from '../src/sim/scenario/layers.ts'
import type { ClientModel, Fault, Scenario, ServerModel } from '../src/sim/scenario/scenario.ts'
import { literal } from '../src/sim/scenario/source.ts'
import type { Settings } from './settings.ts'

const DURATION_MS = 120_000
const FAULT_FROM_MS = 15_000

/** More events would block a browser for too long. The page reports when a run reaches the limit. */
const MAX_EVENTS = 2_000_000

/** The shop that depends on the service. Its workers wait for the responses of the service. */
const SHOP_SIZE = { workers: 20, serviceMs: 20, share: 0.3 } as const

/** Names in the scenario. */
export const SERVICE = 'service'
export const SHOP = 'shop'
export const CALLERS = 'callers'
const POLICY = 'policy'

export type TimedScenario = Scenario & { readonly durationMs: number }

export function scenarioOf(settings: Settings): TimedScenario {
	const hasShop = settings.calledBy === 'shop'
	return {
		seed: settings.seed,
		durationMs: DURATION_MS,
		maxEvents: MAX_EVENTS,
		services: { [SERVICE]: serviceOf(settings), ...(hasShop ? { [SHOP]: SHOP_MODEL } : {}) },
		clients: { [CALLERS]: hasShop ? shopCustomers(settings) : directClients(settings) },
		policies: { [POLICY]: layersOf(settings) },
	}
}

/** Returns the scenario as a TypeScript file for the command line. */
export const scenarioFile = (scenario: Scenario): string =>
	`import type { Scenario } from 'yaoki/sim'\n\nexport default ${literal(scenario)} satisfies Scenario\n`

/** Returns the enabled layers, outermost first, in the order that the guide recommends. */
export function layersOf(settings: Settings): readonly PolicyLayer[] {
	const { bulkhead, bulkheadQueue, breaker, timeoutMs, retries } = settings
	const layers: PolicyLayer[] = []
	if (bulkhead < Infinity) layers.push({ bulkhead: { maxConcurrent: bulkhead, maxQueue: bulkheadQueue } })
	if (breaker !== 'off') layers.push(breakerOf(settings))
	if (retries > 0) layers.push(retryOf(settings))
	if (timeoutMs < Infinity) layers.push({ timeoutMs })
	return layers
}

function breakerOf({ breaker, breakerFailures, breakerRate, breakerResetMs }: Settings): PolicyLayer {
	const resetTimeoutMs = breakerResetMs
	if (breaker === 'consecutive')
		return { circuitBreaker: { failureThreshold: breakerFailures, resetTimeoutMs } }
	const rate = { failureThreshold: Infinity, errorRateThreshold: breakerRate, monitorWindowMs: 10_000 }
	return { circuitBreaker: { ...rate, resetTimeoutMs } }
}

function retryOf(settings: Settings): PolicyLayer {
	const { retries, baseDelayMs, maxDelayMs, jitter } = settings
	const budget = budgetOf(settings)
	const backoff = { maxRetries: retries, baseDelayMs, maxDelayMs, jitterStrategy: jitter }
	return { retry: { ...backoff, ...(budget && { budget }) } }
}

function budgetOf(settings: Settings): BudgetModel | undefined {
	const { budget, budgetRatio, budgetFloor, budgetCapacity } = settings
	if (budget === 'ratio') return { maxRetryRatio: budgetRatio, minRetriesPerSecond: budgetFloor }
	if (budget === 'tokens') return { kind: 'tokens', tokenRatio: budgetRatio }
	if (budget === 'quota') return { kind: 'quota', capacity: budgetCapacity }
	return undefined
}

function serviceOf(settings: Settings): ServerModel {
	const { workers, queueLimit, queueOrder, dropExpired } = settings
	const faults = faultsOf(settings)
	return {
		workers,
		serviceTimeMs: serviceTimeOf(settings),
		queue: { ...(queueLimit < Infinity ? { limit: queueLimit } : {}), order: queueOrder, dropExpired },
		...(faults.length > 0 ? { faults } : {}),
	}
}

/** p99 is ten times the median. */
const LONG_TAIL = { kind: 'lognormal', medianMs: 1, p99Ms: 10 } as const

/** All distributions have the same mean, so that the capacity is the same. */
function serviceTimeOf({ distribution, serviceMs }: Settings): Distribution {
	if (distribution === 'exponential') return { kind: 'exponential', meanMs: serviceMs }
	if (distribution === 'constant') return serviceMs
	const medianMs = serviceMs / meanOf(LONG_TAIL)
	return { ...LONG_TAIL, medianMs, p99Ms: LONG_TAIL.p99Ms * medianMs }
}

function faultsOf({ fault, faultSeconds, slowdown, errorRate }: Settings): readonly Fault[] {
	const span = { fromMs: FAULT_FROM_MS, toMs: FAULT_FROM_MS + faultSeconds * 1_000 }
	if (fault === 'none') return []
	if (fault === 'pause') return [{ kind: 'pause', ...span }]
	if (fault === 'slowdown') return [{ kind: 'slowdown', ...span, factor: slowdown }]
	if (fault === 'errors') return [{ kind: 'errors', ...span, rate: errorRate, status: 503 }]
	return [{ kind: 'outage', ...span, mode: fault }]
}

const SHOP_MODEL: ServerModel = {
	workers: SHOP_SIZE.workers,
	serviceTimeMs: { kind: 'exponential', meanMs: SHOP_SIZE.serviceMs },
	dependsOn: [{ to: SERVICE, policy: POLICY, share: SHOP_SIZE.share }],
}

/** Returns the calls per second that the system can handle without a fault. */
export function capacityOf({ calledBy, workers, serviceMs }: Settings): number {
	if (calledBy === 'clients') return (workers / serviceMs) * 1_000
	const atShop = SHOP_SIZE.workers / (SHOP_SIZE.serviceMs + SHOP_SIZE.share * serviceMs)
	return Math.min(atShop, workers / serviceMs / SHOP_SIZE.share) * 1_000
}

function directClients(settings: Settings): ClientModel {
	return {
		to: SERVICE,
		arrivals: settings.arrivals === 'random' ? randomArrivals(settings) : simultaneousArrivals(settings),
		policy: POLICY,
		instances: settings.clients,
		...goodWithin(settings),
	}
}

/** The shop's customers have no policy: the policy under test is between shop and service. */
const shopCustomers = (settings: Settings): ClientModel => ({
	to: SHOP,
	arrivals: randomArrivals(settings),
	...goodWithin(settings),
})

const randomArrivals = (settings: Settings): Arrivals => ({
	kind: 'poisson',
	perSecond: settings.load * capacityOf(settings),
})

const simultaneousArrivals = ({ clients }: Settings): Arrivals => ({
	kind: 'trace',
	atMs: new Array<number>(clients).fill(FAULT_FROM_MS),
})

const goodWithin = ({ goodWithinMs }: Settings): { goodWithinMs?: number } =>
	goodWithinMs < Infinity ? { goodWithinMs } : {}
