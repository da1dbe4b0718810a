/** What most tests of the simulator need: one service `api`, one client `web` that calls it, and what became of them. */
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
	/** What the calls go through. Default: nothing. */
	readonly policy?: PolicyModel
	/** Whatever else the scenario has. */
	readonly rest?: Partial<Scenario>
}

/** By default a single call at time 0, for which one worker takes 10 ms, until nothing is left to do. */
export function scene({ api: service, web: client, policy, rest }: Parts = {}): Scenario {
	return {
		...(rest?.duration === undefined ? { until: 'idle' } : {}),
		...rest,
		services: { api: { serviceTime: 10, ...service }, ...rest?.services },
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

/** So many calls, one each `everyMs`, from 0 on. */
export const every = (everyMs: number, count: number): ClientModel['arrivals'] => ({
	kind: 'trace',
	atMs: Array.from({ length: count }, (_, index) => index * everyMs),
})

/** The first `count` at once. */
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
