/** The faults of one instance of a service. */
import type { Fault } from '../scenario/fault-model.ts'

/** When the load balancer sends nothing to an instance. */
export interface Drain {
	readonly fromMs: number
	readonly toMs: number
}

/** Returns the faults of this instance. `count` instances take their turns in a rolling restart. */
export const faultsOfInstance = (faults: readonly Fault[], index: number, count: number): readonly Fault[] =>
	faults
		.filter(({ instances = Infinity }) => index < instances)
		.flatMap((fault) => {
			if (fault.kind !== 'restart' || !fault.isRolling) return fault
			const hit = Math.min(count, fault.instances ?? Infinity)
			// One that autoscaling has added is new anyway.
			if (index >= hit) return []
			const turnMs = (fault.toMs - fault.fromMs) / hit
			const fromMs = fault.fromMs + index * turnMs
			return { ...fault, fromMs, toMs: fromMs + turnMs }
		})

/** Returns the same faults for an instance that starts later: without those that are over, and in time from its start. */
export const faultsFrom = (faults: readonly Fault[], now: number): readonly Fault[] =>
	now === 0
		? faults
		: faults
				.filter(({ toMs }) => toMs > now)
				.map((fault) => ({ ...fault, fromMs: Math.max(0, fault.fromMs - now), toMs: fault.toMs - now }))

/** Returns when the load balancer leaves out this instance, because it knows of its restarts. */
export const drainsOf = (faults: readonly Fault[]): readonly Drain[] =>
	faults.flatMap((fault) =>
		fault.kind === 'restart' && fault.drainMs !== undefined
			? [{ fromMs: Math.max(0, fault.fromMs - fault.drainMs), toMs: fault.toMs }]
			: [],
	)
