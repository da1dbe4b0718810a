/** Makes a run's policies: one for each instance of a client, and one for each hop between services. */
import { pipeline } from '../../core/engine/pipeline.ts'
import { Policy } from '../../core/engine/policy.ts'
import { refuse } from '../../core/options/rules.ts'
import type { World } from '../kernel/world.ts'
import { policyOf } from '../scenario/layers.ts'
import type { PolicyModel } from '../scenario/scenario.ts'

export type MakePolicy = (name: string | undefined, owner: string) => Policy | undefined

/** `owner` is whose chance it has. */
export function policyMaker(world: World, models: Readonly<Record<string, PolicyModel>>): MakePolicy {
	return (name, owner) => {
		const model = name === undefined ? undefined : models[name]
		if (!model) return undefined
		const path = `policies.${name}`
		const runtime = world.runtime(`${owner} policy`)
		if (typeof model !== 'function')
			return policyOf(model, path, {
				runtime,
				once: (key, make) => world.once(key, make),
				sharedRuntime: () => world.runtime(`${path} shared`),
			})
		const made: unknown = model({ runtime, once: (key, make) => world.once(`${path}: ${key}`, make) })
		if (!(made instanceof Policy)) refuse(`${path}()`, made, 'a function that returns a policy')
		return pipeline({ runtime }, made)
	}
}
