import type { ObservedPipeline } from './observe.ts'

/** The observers of pipelines that are created on first use, such as one per origin, and that may be evicted. */
export class PipelineObservers {
	readonly #pipelines: () => Iterable<ObservedPipeline>
	readonly #observers = new Set<(pipeline: ObservedPipeline) => void>()

	/** `pipelines` returns those that exist. */
	constructor(pipelines: () => Iterable<ObservedPipeline>) {
		this.#pipelines = pipelines
	}

	/** Must be called with every new pipeline. */
	add(pipeline: ObservedPipeline): void {
		for (const observe of this.#observers) observe(pipeline)
	}

	/** Calls `attach` with every pipeline, later ones included. Returns a function that ends it. */
	observe(attach: (pipeline: ObservedPipeline) => () => void): () => void {
		// Weakly, because pipelines are evicted. Those may emit events later too, for example of downloads.
		const ends = new WeakMap<ObservedPipeline, () => void>()
		let isObserved = true
		const add = (pipeline: ObservedPipeline) => {
			const end = attach({
				compiled: pipeline.compiled,
				listen: (listener, filter) => pipeline.listen((event) => isObserved && listener(event), filter),
			})
			ends.set(pipeline, end)
		}
		for (const pipeline of this.#pipelines()) add(pipeline)
		this.#observers.add(add)
		return () => {
			isObserved = false
			this.#observers.delete(add)
			for (const pipeline of this.#pipelines()) ends.get(pipeline)?.()
		}
	}
}
