import { UNNAMED } from '../errors/errors.ts'
import type { PolicyListener } from '../events/events.ts'
import type { EventFilter } from '../observe/observation.ts'
import { combineEnds } from '../observe/subscribe.ts'
import { invalidArgument, isObject, type OptionSchema } from '../options/schema.ts'
import type { UnboundLayer } from './compile.ts'
import type { LayerEnv } from './layer.ts'
import { isPolicy, Policy, type SubstituteOf } from './policy.ts'
import { NO_OPTIONS, POLICY_SCHEMA, type PolicyOptions, readPolicyOptions } from './policy-options.ts'

/** Options of a pipeline, the first argument of `pipeline(options, ...policies)`. Its policies inherit runtime and classifier. */
export interface PipelineOptions extends PolicyOptions {
	/**
	 * Measures every call, which costs about as much as a policy. By default a call after 100 consecutive
	 * successes is measured only if a listener of the pipeline, call options or `settle` need it, and `explain`
	 * has no times if it fails. Default false.
	 */
	readonly exactTimes?: boolean | undefined
}

const PIPELINE_SCHEMA: OptionSchema = { ...POLICY_SCHEMA, exactTimes: 'boolean' }

/** Policies as one. `pipeline` checks them first. */
export class Pipeline<Substitute> extends Policy<Substitute> {
	readonly #policies: readonly Policy<unknown>[]

	constructor(options: PipelineOptions, policies: readonly Policy<unknown>[]) {
		super(UNNAMED, options)
		readPolicyOptions(options, 'pipeline', PIPELINE_SCHEMA)
		this.#policies = policies
	}

	override layers(env: LayerEnv): readonly UnboundLayer[] {
		const inside = this.envInside(env)
		return this.#policies.flatMap((policy) => policy.layers(inside))
	}

	override envInside(env: LayerEnv): LayerEnv {
		const { exactTimes }: PipelineOptions = this.options
		return { ...super.envInside(env), pipeline: this.name, exactTimes }
	}

	override leaves(): readonly Policy<unknown>[] {
		return this.#policies.flatMap((policy) => policy.leaves())
	}

	override listen(listener: PolicyListener, filter?: EventFilter): () => void {
		// A policy may occur several times, also in nested pipelines, but must call the listener once per event.
		return combineEnds([...new Set(this.leaves())].map((policy) => policy.listen(listener, filter)))
	}
}

/**
 * Composes policies, outermost first. Pipelines can be nested. Options before the first policy apply to all
 * policies that do not set their own.
 *
 * @example
 * const users = pipeline({ name: 'users' }, retry(presets.externalApi), timeout(5_000))
 * const user = await users.execute(({ signal }) => loadUser(id, signal))
 */
export function pipeline<Policies extends readonly Policy<unknown>[]>(
	...policies: Policies
): Policy<SubstituteOf<Policies[number]>>
export function pipeline<Policies extends readonly Policy<unknown>[]>(
	options: PipelineOptions,
	...policies: Policies
): Policy<SubstituteOf<Policies[number]>>
export function pipeline(
	...args: readonly (Policy<unknown> | PipelineOptions | undefined)[]
): Policy<unknown> {
	const [first] = args
	const hasOptions = isObject(first) && !isPolicy(first)
	const given = hasOptions || first === undefined ? args.slice(1) : args
	const wrong = given.findIndex((policy) => !isPolicy(policy))
	if (wrong >= 0) invalidArgument(`policies[${wrong}]`, given[wrong], expectedInstead(given[wrong]))
	const composed = new Pipeline<unknown>(hasOptions ? first : NO_OPTIONS, given as readonly Policy<unknown>[])
	const leaves = composed.leaves()
	const twice = leaves.find((leaf, index) => leaf.isExclusive && leaves.indexOf(leaf) < index)
	if (twice)
		invalidArgument(
			'policies',
			twice.name,
			'each bulkhead once: a call would wait for the slot that it holds',
		)
	// Compiled now, so that the policies know the runtime and the name before the first call, and those that
	// are invalid here throw. Single policies without options inherit nothing, and their first call compiles: a
	// pipeline that is never used is smaller by a fifth.
	if (hasOptions || leaves.some((leaf, index) => leaf !== given[index])) composed.compiled()
	return composed
}

/** Names what was probably meant. */
function expectedInstead(given: unknown): string {
	if (typeof given === 'function') return `a policy, which ${given.name || 'the function'}(...) creates`
	return Array.isArray(given) ? 'policies as separate arguments: pipeline(...policies)' : 'a policy'
}
