/**
 * Autoscaling by utilization, with the rule of Kubernetes' horizontal autoscaler: the number of instances that would have brought the
 * utilization of the last interval to its target. New instances take time to start, which is why autoscaling does not help against a
 * retry storm that is over sooner.
 */
import type { EventLoop } from '../kernel/event-loop.ts'
import type { AutoscalingModel } from '../scenario/balancer-model.ts'
import type { InstancePool } from './pool.ts'

/** Smaller differences between utilization and target change nothing. */
const TOLERANCE = 0.1

type Settings = { readonly [Name in keyof AutoscalingModel]-?: number }

export class Autoscaler {
	readonly #loop: EventLoop
	readonly #pool: InstancePool
	/** Worker time used so far, in milliseconds. */
	readonly #busyMs: () => number
	readonly #settings: Settings
	#usedBefore = 0
	/** Instances that are being started. */
	#starting = 0
	/** Since when fewer instances are needed than there are, and the most that were needed since then. */
	#idleSince = 0
	#mostNeeded = 0

	constructor(loop: EventLoop, model: AutoscalingModel, pool: InstancePool, busyMs: () => number) {
		this.#loop = loop
		this.#pool = pool
		this.#busyMs = busyMs
		this.#settings = {
			targetUtilization: model.targetUtilization ?? 0.7,
			minInstances: model.minInstances ?? 1,
			maxInstances: model.maxInstances,
			everyMs: model.everyMs ?? 15_000,
			startMs: model.startMs ?? 30_000,
			scaleDownAfterMs: model.scaleDownAfterMs ?? 300_000,
		}
		this.#schedule()
	}

	#schedule(): void {
		this.#loop.after(this.#settings.everyMs, () => {
			this.#decide()
			this.#schedule()
		})
	}

	#decide(): void {
		const { targetUtilization, minInstances, maxInstances, everyMs, startMs, scaleDownAfterMs } =
			this.#settings
		const pool = this.#pool
		const used = this.#busyMs()
		const size = () => pool.size.current
		const utilization = (used - this.#usedBefore) / (size() * pool.workersEach * everyMs)
		this.#usedBefore = used
		const ratio = utilization / targetUtilization
		const wanted = Math.abs(ratio - 1) <= TOLERANCE ? size() : Math.ceil(size() * ratio)
		const needed = Math.min(maxInstances, Math.max(minInstances, wanted))
		const now = this.#loop.now()
		for (; size() + this.#starting < needed; this.#starting++)
			this.#loop.after(startMs, () => {
				this.#starting--
				pool.start()
			})
		if (needed >= size()) {
			this.#idleSince = now
			this.#mostNeeded = 0
		} else this.#mostNeeded = Math.max(this.#mostNeeded, needed)
		if (now - this.#idleSince < scaleDownAfterMs) return
		while (size() > this.#mostNeeded) pool.stop()
		this.#idleSince = now
		this.#mostNeeded = 0
	}
}
