import type { UnboundLayer } from '../core/engine/compile.ts'
import type { LayerEnv } from '../core/engine/layer.ts'
import { Policy } from '../core/engine/policy.ts'
import type { PolicyListener } from '../core/events/events.ts'
import type { Runtime } from '../core/runtime/runtime.ts'
import { EventHeap } from './event-heap.ts'

/**
 * The same policy with waits that take no time, for suites of users: as many attempts, no sleeping. The policy's own clock
 * moves on by what was skipped, so that `maxElapsedMs` ends a call just as it would have. Calls side by side share that
 * clock, and a Deadline runs on its own: where such moments matter, take a virtual runtime.
 *
 * @example
 * const payments = skipDelays(productionPolicy)
 * await expect(payments.execute(alwaysFails)).rejects.toThrow('down')
 */
export function skipDelays(policy: Policy): Policy {
	return new SkipDelays(policy)
}

class SkipDelays extends Policy {
	readonly #policy: Policy
	readonly #hasty = new Map<Runtime, Runtime>()

	constructor(policy: Policy) {
		super(policy.name, {})
		this.#policy = policy
	}

	override leaves(): readonly Policy[] {
		return this.#policy.leaves()
	}

	override subscribe(listener: PolicyListener): () => void {
		return this.#policy.subscribe(listener)
	}

	override layers(around: LayerEnv): readonly UnboundLayer[] {
		return this.#policy.layers(around).map((bound) => ({ ...bound, runtime: this.#hurry(bound.runtime) }))
	}

	override envInside(around: LayerEnv): LayerEnv {
		const inside = this.#policy.envInside(around)
		return { ...inside, runtime: this.#hurry(inside.runtime) }
	}

	/** One for each runtime, so that layers which shared a clock still do. */
	#hurry(runtime: Runtime): Runtime {
		const hasty = this.#hasty.get(runtime) ?? hurry(runtime)
		this.#hasty.set(runtime, hasty)
		return hasty
	}
}

/** Waits end in the order of their times, each a promise job after the one before; the clock leaps along. */
function hurry(runtime: Runtime): Runtime {
	const waits = new EventHeap()
	let ahead = 0
	const now = () => runtime.now() + ahead
	const endNext = () => {
		const wait = waits.take()
		if (wait === undefined) return
		ahead += Math.max(0, wait.at - now())
		wait.fire?.()
	}
	return {
		now,
		wallNow: () => runtime.wallNow() + ahead,
		random: () => runtime.random(),
		...(runtime.createId && { createId: () => runtime.createId?.() ?? '' }),
		setTimer(ms, fn, kind) {
			if (kind && kind !== 'wait') return runtime.setTimer(ms, fn, kind)
			const wait = waits.add(now() + ms, fn)
			queueMicrotask(endNext)
			return () => {
				wait.fire = undefined
			}
		},
	}
}
