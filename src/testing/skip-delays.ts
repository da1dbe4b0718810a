import type { UnboundLayer } from '../core/engine/compile.ts'
import type { LayerEnv } from '../core/engine/layer.ts'
import { Policy } from '../core/engine/policy.ts'
import type { PolicyListener } from '../core/events/events.ts'
import { type Inspectable, inspectionOf } from '../core/observe/inspection.ts'
import type { EventFilter } from '../core/observe/observation.ts'
import { invalidArgument } from '../core/options/schema.ts'
import type { Runtime } from '../core/runtime/runtime.ts'
import { EventHeap } from './event-heap.ts'

/**
 * Returns a policy that runs the given one with delays that take no time, for tests: the same attempts
 * without waiting. The policy's clock advances by the skipped time, so that `maxElapsedMs` ends a call as
 * usual. Concurrent calls share that clock, and a `Deadline` has its own clock: if such details matter, use
 * `virtualRuntime`. An HTTP client or a `resilientFetch` becomes a new one with the same options and its own
 * circuits.
 *
 * @example
 * const payments = skipDelays(policy)
 * await expect(payments.execute(alwaysFails)).rejects.toThrow('down')
 */
export function skipDelays<Substitute>(policy: Policy<Substitute>): Policy<Substitute>
export function skipDelays<Client extends Inspectable>(client: Client): Client
export function skipDelays(given: Policy<unknown> | Inspectable): unknown {
	if (given instanceof Policy) return new SkipDelays(given)
	const { runtime, withRuntime } = inspectionOf(given) ?? {}
	if (!runtime || !withRuntime)
		invalidArgument('policy', given, 'a policy, a pipeline, a ResilientHttpClient or a resilientFetch')
	return withRuntime(createSkippingRuntime(runtime))
}

class SkipDelays<Substitute> extends Policy<Substitute> {
	readonly #policy: Policy<Substitute>
	readonly #runtimes = new Map<Runtime, Runtime>()

	constructor(policy: Policy<Substitute>) {
		super(policy.name, {})
		this.#policy = policy
	}

	override leaves(): readonly Policy<unknown>[] {
		return this.#policy.leaves()
	}

	override listen(listener: PolicyListener, filter?: EventFilter): () => void {
		return this.#policy.listen(listener, filter)
	}

	override layers(parent: LayerEnv): readonly UnboundLayer[] {
		return this.#policy.layers(parent).map((bound) => ({ ...bound, runtime: this.#skip(bound.runtime) }))
	}

	override envInside(parent: LayerEnv): LayerEnv {
		const env = this.#policy.envInside(parent)
		return { ...env, runtime: this.#skip(env.runtime) }
	}

	/** Returns one runtime for each original, so that layers which share a clock still do. */
	#skip(runtime: Runtime): Runtime {
		const skipping = this.#runtimes.get(runtime) ?? createSkippingRuntime(runtime)
		this.#runtimes.set(runtime, skipping)
		return skipping
	}
}

/** Waits end in the order of their times, one per microtask, and advance the clock. */
function createSkippingRuntime(runtime: Runtime): Runtime {
	const waits = new EventHeap()
	let skippedMs = 0
	const now = () => runtime.now() + skippedMs
	const endNext = () => {
		const wait = waits.take()
		if (wait === undefined) return
		skippedMs += Math.max(0, wait.at - now())
		wait.fire?.()
	}
	return {
		now,
		wallNow: () => runtime.wallNow() + skippedMs,
		random: () => runtime.random(),
		...(runtime.createId && { createId: () => runtime.createId?.() ?? '' }),
		setTimer(ms, fn, kind) {
			if (kind && kind !== 'wait') return runtime.setTimer(ms, fn, kind)
			const wait = waits.add(now() + ms, fn)
			// Not queueMicrotask: some fake timers replace it.
			void Promise.resolve().then(endNext)
			return () => {
				wait.fire = undefined
			}
		},
	}
}
