/** Builds a service: one server, or instances behind a load balancer. */
import type { EventLoop } from '../kernel/event-loop.ts'
import type { InstanceResult } from '../measure/result.ts'
import type { ServiceMeter } from '../measure/service-meter.ts'
import type { Receiver } from '../model/request.ts'
import { type CallDependencies, Server } from '../model/server.ts'
import type { ServerModel } from '../scenario/scenario.ts'
import { Autoscaler } from './autoscaler.ts'
import { drainsOf, faultsFrom, faultsOfInstance } from './instance-faults.ts'
import { InstancePool } from './pool.ts'

/** A service as a simulation sees it. */
export interface Service extends Receiver {
	/** Mean over the run. */
	readonly workers: number
	readonly capacityPerSecond: number | null
	/** What each instance did, if there is a load balancer. */
	results?(): readonly InstanceResult[]
}

/** `callsOf` returns how an instance with this path calls its dependencies. Each instance has its own policies for that. */
export function createService(
	loop: EventLoop,
	name: string,
	model: ServerModel,
	meter: ServiceMeter,
	callsOf: (path: string) => CallDependencies | undefined,
): Service {
	const { instances = 1, loadBalancer, autoscaling, faults = [] } = model
	if (model.instances === undefined && !loadBalancer && !autoscaling)
		return new Server(loop, name, model, meter, callsOf(`services.${name}`))
	const pool = new InstancePool(loop, `services.${name}`, loadBalancer ?? {}, instances, (index) => {
		const own = faultsFrom(faultsOfInstance(faults, index, instances), loop.now())
		const id = `${name}[${index}]`
		return {
			server: new Server(loop, id, { ...model, faults: own }, meter, callsOf(`services.${id}`)),
			drains: drainsOf(own),
		}
	})
	if (autoscaling) {
		const workedMs = meter.trackWork()
		new Autoscaler(loop, autoscaling, pool, () => workedMs(loop.now()))
	}
	return pool
}
