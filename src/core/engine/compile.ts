import type { BoundLayer, CompiledPipeline, Layer } from './call.ts'
import type { LayerEnv } from './layer.ts'

/** A layer that has not been given its place yet. */
export interface UnboundLayer extends LayerEnv {
	readonly layer: Layer
}

/** Gives layers their places, outermost first, inside of `outer`. */
export function bindLayers(layers: readonly UnboundLayer[], outer?: BoundLayer): BoundLayer | undefined {
	const [first, ...rest] = layers
	if (!first) return undefined
	const { layer, runtime, classify } = first
	const bound: BoundLayer & { next: BoundLayer | undefined } = {
		layer,
		index: outer ? outer.index + 1 : 0,
		outer,
		next: undefined,
		runtime,
		classify,
	}
	bound.next = bindLayers(rest, bound)
	return bound
}

export const compilePipeline = (
	name: string,
	layers: readonly UnboundLayer[],
	around: LayerEnv,
): CompiledPipeline => ({
	name,
	first: bindLayers(layers),
	runner: layers.find(({ layer }) => layer.runner)?.layer.runner,
	runtime: around.runtime,
	classify: around.classify,
	consecutiveSuccesses: 0,
})
