/**
 * Autoscaling by utilization, with the rule of Kubernetes' horizontal autoscaler: the number of instances
 * that would have brought the utilization of the last interval to its target. New instances take time to
 * start, which is why autoscaling does not help against a retry storm that is over sooner.
 */
import type { EventLoop } from '../kernel/event-loop.ts'
import type { AutoscalingModel } from '../scenario/scenario.ts'
import type { InstancePool } from './pool.ts'

/** Smaller differences between utilization and target change nothing. */
const TOLERANCE = 0.1

/** `busyMs` returns the worker time used so far. */
export function autoscale(
	loop: EventLoop,
	model: AutoscalingModel,
	pool: InstancePool,
	busyMs: () => number,
): void {
	const { targetUtilization = 0.7, minInstances = 1, maxInstances, everyMs = 15_000 } = model
	const { startMs = 30_000, scaleDownAfterMs = 300_000 } = model
	const size = () => pool.size.current
	let usedBefore = 0
	let starting = 0
	/** Since when fewer instances are needed than there are, and the most that were needed since then. */
	let [idleSince, mostNeeded] = [0, 0]
	const decide = () => {
		const used = busyMs()
		const utilization = (used - usedBefore) / (size() * pool.workersEach * everyMs)
		usedBefore = used
		const ratio = utilization / targetUtilization
		const wanted = Math.abs(ratio - 1) <= TOLERANCE ? size() : Math.ceil(size() * ratio)
		const needed = Math.min(maxInstances, Math.max(minInstances, wanted))
		const now = loop.now()
		for (; size() + starting < needed; starting++)
			loop.after(startMs, () => {
				starting--
				pool.start()
			})
		if (needed >= size()) [idleSince, mostNeeded] = [now, 0]
		else mostNeeded = Math.max(mostNeeded, needed)
		if (now - idleSince < scaleDownAfterMs) return
		while (size() > mostNeeded) pool.stop()
		;[idleSince, mostNeeded] = [now, 0]
	}
	const schedule = () =>
		loop.after(everyMs, () => {
			decide()
			schedule()
		})
	schedule()
}
