/**
 * Simulates production: a known service with a real policy whose listener writes JSON lines. The scenario that
 * is built from the lines can then be compared with the simulation.
 */
import type { Policy } from 'yaoki'
import { type Fault, type Scenario, type ServerModel, type SimulationResult, simulate } from 'yaoki/sim'
import { seededRandom } from 'yaoki/testing'

export interface ProductionModel {
	readonly faults?: readonly Fault[]
	readonly perSecond?: number
	readonly seconds?: number
	readonly service?: Partial<ServerModel>
	/** Operations that timed out hold their slot until the service responds. */
	readonly ignoresSignal?: boolean
}

/** The normal service time. */
const SERVICE = { kind: 'lognormal', medianMs: 20, p99Ms: 120 } as const

/** Returns random arrival times, always the same. */
export function arrivalsOf({ perSecond = 50, seconds = 120 }: ProductionModel = {}): number[] {
	const random = seededRandom('arrivals')
	const atMs: number[] = []
	for (let at = 0; ; ) {
		at -= Math.log(1 - random()) * (1_000 / perSecond)
		if (at > seconds * 1_000) return atMs
		atMs.push(at)
	}
}

const scenarioOf = (model: ProductionModel, policies: Scenario['policies']): Scenario => ({
	seed: 7,
	until: 'idle',
	services: {
		api: { workers: Infinity, serviceTimeMs: SERVICE, ...model.service, faults: model.faults ?? [] },
	},
	clients: {
		web: {
			to: 'api',
			arrivals: { kind: 'trace', atMs: arrivalsOf(model) },
			policy: 'web',
			ignoresSignal: model.ignoresSignal,
		},
	},
	policies: { web: [], ...policies },
})

/**
 * A retry storm that outlasts its outage: the service can process 500 requests per second and gets 350 calls, but each sends four
 * requests if it gets no response in time.
 */
export const STORM: ProductionModel = {
	perSecond: 350,
	seconds: 60,
	faults: [{ kind: 'outage', mode: 'hang', fromMs: 15_000, toMs: 25_000 }],
	service: { workers: 10, serviceTimeMs: { kind: 'exponential', meanMs: 20 } },
}

export interface Production {
	readonly lines: readonly string[]
	readonly truth: SimulationResult
}

/** Runs the service with this policy and records its events. `rewritten` may change each event. */
export function produce(
	model: ProductionModel,
	make: () => Policy<unknown>,
	rewritten: (event: object) => object = (event) => event,
): Production {
	const lines: string[] = []
	const web = () => {
		const policy = make()
		policy.subscribe((event) => lines.push(JSON.stringify(rewritten(event))))
		return policy
	}
	return { truth: simulate(scenarioOf(model, { web })), lines }
}

/** Returns the result of the same service with another policy. */
export const truthOf = (
	model: ProductionModel,
	web: NonNullable<Scenario['policies']>[string],
): SimulationResult => simulate(scenarioOf(model, { web }))

/** Returns the arrivals of the scenario. */
export function readArrivals({ clients }: Scenario): readonly number[] {
	const arrivals = clients['calls']?.arrivals
	if (arrivals?.kind !== 'trace') throw new Error('arrivals are a trace')
	return arrivals.atMs
}

export function readService({ services }: Scenario): ServerModel {
	const service = services['service']
	if (!service || service.kind === 'optimistic-lock') throw new Error('there is one service')
	return service
}
