/** Makes a run's policies: one for each instance of a client, and one for each hop between services. */
import { pipeline } from '../../core/engine/pipeline.ts'
import { isPolicy, type Policy } from '../../core/engine/policy.ts'
import { invalidOption } from '../../core/options/schema.ts'
import type { EventLoop } from '../kernel/event-loop.ts'
import { buildPolicy } from '../scenario/layers.ts'
import type { PolicyModel } from '../scenario/scenario.ts'

/** In which run a policy was made. By the policy, so that nothing is kept of those that are gone. */
const madeIn = new WeakMap<Policy, EventLoop>()

/** A breaker that remembers an earlier run, and that run's clock, would make the same seed give another result. */
function checkFresh(policy: Policy, world: EventLoop, path: string): void {
	for (const leaf of policy.leaves()) {
		if ((madeIn.get(leaf) ?? world) !== world)
			invalidOption(
				`${path}()`,
				leaf.name,
				'a function that makes its policies afresh; this one is of an earlier run, which it remembers',
			)
		madeIn.set(leaf, world)
	}
}

export type MakePolicy = (name: string | undefined, owner: string) => Policy | undefined

/** `owner` is whose chance it has. */
export function policyMaker(world: EventLoop, models: Readonly<Record<string, PolicyModel>>): MakePolicy {
	return (name, owner) => {
		const model = name === undefined ? undefined : models[name]
		if (!model) return undefined
		const path = `policies.${name}`
		const runtime = world.runtime(`${owner} policy`)
		if (typeof model !== 'function')
			return buildPolicy(model, path, {
				runtime,
				once: (key, make) => world.once(key, make),
				sharedRuntime: (place) => world.runtime(`${place} shared`),
			})
		const made: unknown = model({ runtime, once: (key, make) => world.once(`${path}: ${key}`, make) })
		if (!isPolicy(made)) invalidOption(`${path}()`, made, 'a function that returns a policy')
		checkFresh(made, world, path)
		return pipeline({ runtime }, made)
	}
}
