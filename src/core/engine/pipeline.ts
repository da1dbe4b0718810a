import { InvalidOptionError } from '../errors/errors.ts'
import type { PolicyListener } from '../events/events.ts'
import type { UnboundLayer } from './compile.ts'
import type { LayerEnv } from './layer.ts'
import { Policy, UNNAMED } from './policy.ts'
import { checkPolicyOptions, type PolicyOptions } from './policy-options.ts'

/** What holds for all policies of a pipeline that were given none of their own. */
export type PipelineOptions = PolicyOptions

class Pipeline extends Policy {
	readonly #policies: readonly Policy[]

	constructor(options: PipelineOptions, policies: readonly Policy[]) {
		super(UNNAMED, options)
		checkPolicyOptions(options)
		this.#policies = policies
	}

	override layers(around: LayerEnv): readonly UnboundLayer[] {
		const inside = this.envInside(around)
		return this.#policies.flatMap((policy) => policy.layers(inside))
	}

	override leaves(): readonly Policy[] {
		return this.#policies.flatMap((policy) => policy.leaves())
	}

	override subscribe(listener: PolicyListener): () => void {
		// A policy may stand in several places, also of pipelines inside this one, and is still heard once.
		const ends = [...new Set(this.leaves())].map((policy) => policy.subscribe(listener))
		return () => {
			for (const end of ends) end()
		}
	}
}

/** By what it can do, for a policy may be of another copy of the package. */
export const isPolicy = (value: unknown): value is Policy =>
	typeof (value as { layers?: unknown } | null | undefined)?.layers === 'function'

/**
 * Puts policies around each other, outermost first, as many as you like and pipelines among them. Options for all of them may come
 * before the first.
 *
 * @example
 * const payments = pipeline({ name: 'payments' }, retry(presets.externalApi))
 * const receipt = await payments.execute(({ signal }) => charge(order, { signal }))
 */
export function pipeline(...policies: readonly Policy[]): Policy
export function pipeline(options: PipelineOptions, ...policies: readonly Policy[]): Policy
export function pipeline(first?: Policy | PipelineOptions, ...rest: readonly Policy[]): Policy {
	const [options, policies] = isPolicy(first) ? [{}, [first, ...rest]] : [first ?? {}, rest]
	const stranger = policies.findIndex((policy) => !isPolicy(policy))
	if (stranger >= 0)
		throw new InvalidOptionError(`pipeline, place ${stranger + 1}`, policies[stranger], 'a policy')
	const made = new Pipeline(options, policies)
	// Now, so that its policies know their clock before the first call.
	made.compiled()
	return made
}
