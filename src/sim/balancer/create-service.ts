/** Builds a service: one server, or instances behind a load balancer. */
import type { EventLoop } from '../kernel/event-loop.ts'
import type { InstanceResult } from '../measure/result.ts'
import type { ServiceMeter } from '../measure/service-meter.ts'
import type { Receiver } from '../model/request.ts'
import { type CallDependencies, Server } from '../model/server.ts'
import type { Fault, ServerModel } from '../scenario/scenario.ts'
import { autoscale } from './autoscaler.ts'
import { type Drain, InstancePool } from './pool.ts'

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
		autoscale(loop, autoscaling, pool, () => workedMs(loop.now()))
	}
	return pool
}

/** Returns the faults of this instance. `count` instances take their turns in a rolling restart. */
export const faultsOfInstance = (faults: readonly Fault[], index: number, count: number): readonly Fault[] =>
	faults
		.filter(({ instances = Infinity }) => index < instances)
		.flatMap((fault) => {
			if (fault.kind !== 'restart' || !fault.isRolling) return fault
			const hit = Math.min(count, fault.instances ?? Infinity)
			// An instance that autoscaling has added is new anyway.
			if (index >= hit) return []
			const turnMs = (fault.toMs - fault.fromMs) / hit
			const fromMs = fault.fromMs + index * turnMs
			return { ...fault, fromMs, toMs: fromMs + turnMs }
		})

/** Returns the same faults for an instance that starts later: without those that are over, and in time from its start. */
const faultsFrom = (faults: readonly Fault[], now: number): readonly Fault[] =>
	now === 0
		? faults
		: faults
				.filter(({ toMs }) => toMs > now)
				.map((fault) => ({ ...fault, fromMs: Math.max(0, fault.fromMs - now), toMs: fault.toMs - now }))

/** Returns when the load balancer leaves out this instance, because it knows of its restarts. */
const drainsOf = (faults: readonly Fault[]): readonly Drain[] =>
	faults.flatMap((fault) =>
		fault.kind === 'restart' && fault.drainMs !== undefined
			? [{ fromMs: Math.max(0, fault.fromMs - fault.drainMs), toMs: fault.toMs }]
			: [],
	)
