/** Compiles policies into bound layers, with the runtime and the classifier that each of them inherits. */
import { classify, extendClassifier } from '../classify/classify.ts'
import { systemRuntime } from '../runtime/system.ts'
import type { BoundLayer, CompiledPipeline, Layer } from './call.ts'
import type { LayerEnv } from './layer.ts'
import type { PolicyOptions } from './policy-options.ts'

/**
 * After this many consecutive successes, a call without options starts without reading the clock, which would
 * cost as much as the rest of the policy. A failure switches it back on. Call options, a listener of the
 * pipeline, `settle` and `exactTimes` keep it on. The price: the record of the first failure after such a
 * period lacks the start of the call, its time in queues and the times relative to the start. Nothing else
 * depends on it.
 */
const UNMEASURED_AFTER = 100

/** The environment of a policy outside any pipeline. */
export const DEFAULT_ENV: LayerEnv = { runtime: systemRuntime, classify: (error) => classify(error) }

/** Returns the environment inside a policy with these options. */
export function inheritEnv(own: PolicyOptions, parent: LayerEnv = DEFAULT_ENV): LayerEnv {
	if (!own.runtime && !own.classify) return parent
	const { runtime = parent.runtime } = own
	const clock = { runtime }
	const inherited = parent === DEFAULT_ENV ? (error: unknown) => classify(error, clock) : parent.classify
	return { ...parent, runtime, classify: extendClassifier(own.classify, inherited) }
}

/** A layer that has no position in a pipeline yet. */
export interface UnboundLayer extends LayerEnv {
	readonly layer: Layer
}

/** Binds layers to their positions, outermost first, inside `outer`. Returns the first. */
export function bindLayers(layers: readonly UnboundLayer[], outer?: BoundLayer): BoundLayer | undefined {
	let first: BoundLayer | undefined
	let last: (BoundLayer & { next: BoundLayer | undefined }) | undefined
	for (const { layer, runtime, classify } of layers) {
		const around = last ?? outer
		const bound = {
			layer,
			index: around ? around.index + 1 : 0,
			outer: around,
			next: undefined,
			runtime,
			classify,
		}
		if (last) last.next = bound
		first ??= bound
		last = bound
	}
	return first
}

export const compilePipeline = (
	name: string,
	layers: readonly UnboundLayer[],
	env: LayerEnv,
): CompiledPipeline => ({
	name,
	first: bindLayers(layers),
	runner: layers.find(({ layer }) => layer.runner)?.layer.runner,
	runtime: env.runtime,
	classify: env.classify,
	pipeline: env.pipeline,
	consecutiveSuccesses: 0,
	unmeasuredAfter: env.exactTimes ? Infinity : UNMEASURED_AFTER,
	observer: undefined,
})
