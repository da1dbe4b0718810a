/** A scenario with one service `api` and one client `web`, and access to its results. */
import type {
	ClientModel,
	ClientResult,
	PolicyModel,
	Scenario,
	ServerModel,
	ServiceResult,
	SimulationResult,
} from 'yaoki/sim'

export interface Parts {
	readonly api?: Partial<ServerModel>
	readonly web?: Partial<ClientModel>
	/** The policy of the client. Default: none. */
	readonly policy?: PolicyModel
	/** Other fields of the scenario. */
	readonly rest?: Partial<Scenario>
}

/** By default a single call at time 0 and one worker with a service time of 10 ms, until idle. */
export function setup({ api: service, web: client, policy, rest }: Parts = {}): Scenario {
	return {
		...(rest?.durationMs === undefined ? { until: 'idle' } : {}),
		...rest,
		services: { api: { serviceTimeMs: 10, ...service }, ...rest?.services },
		clients: {
			web: {
				to: 'api',
				arrivals: { kind: 'trace', atMs: [0] },
				...(policy ? { policy: 'web' } : {}),
				...client,
			},
			...rest?.clients,
		},
		policies: { ...(policy ? { web: policy } : {}), ...rest?.policies },
	}
}

/** Returns `count` arrivals, one every `everyMs`, from 0 on. */
export const every = (everyMs: number, count: number): ClientModel['arrivals'] => ({
	kind: 'trace',
	atMs: Array.from({ length: count }, (_, index) => index * everyMs),
})

/** Returns `count` arrivals at time 0. */
export const atOnce = (count: number): ClientModel['arrivals'] => every(0, count)

export const api = (result: SimulationResult): ServiceResult => serviceOf(result, 'api')
export const web = (result: SimulationResult): ClientResult => clientOf(result, 'web')

export function serviceOf({ services }: SimulationResult, name: string): ServiceResult {
	const service = services[name]
	if (!service) throw new Error(`there is no service ${name}`)
	return service
}

export function clientOf({ clients }: SimulationResult, name: string): ClientResult {
	const client = clients[name]
	if (!client) throw new Error(`there is no client ${name}`)
	return client
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
