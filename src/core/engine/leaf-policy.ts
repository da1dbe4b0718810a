import type { EventDetails, Listener, YaokiEvent } from '../events/events.ts'
import type { Call, Layer, Seat, Surroundings } from './call.ts'
import { observe } from './hooks.ts'
import { Policy, UNNAMED } from './policy.ts'
import type { PolicyOptions } from './policy-options.ts'

/** A policy that is one layer and not a pipeline of several: it has listeners of its own. */
export abstract class LeafPolicy extends Policy {
	readonly #layer: Layer
	#listeners: readonly Listener[] = []

	/** @internal */
	constructor(name: string, own: PolicyOptions, layer: Layer) {
		super(name, own)
		this.#layer = layer
	}

	override subscribe(listener: Listener): () => void {
		// A wrapper of its own, so that one function subscribed twice is heard twice and each unsubscribe ends its own.
		const heard: Listener = (event) => listener(event)
		this.#listeners = [...this.#listeners, heard]
		this.heard(true)
		return () => {
			this.#listeners = this.#listeners.filter((other) => other !== heard)
			this.heard(this.#listeners.length > 0)
		}
	}

	/** @internal */
	override seats(around: Surroundings): readonly Seat[] {
		return [{ layer: this.#layer, depth: 1, ...this.surroundings(around) }]
	}

	/** @internal Somebody listens now, or nobody does any more: then events are not even made. */
	protected abstract heard(isHeard: boolean): void

	/** @internal */
	protected emit({ options, plan }: Call, { runtime }: Seat, details: EventDetails): void {
		const { name, key } = options ?? {}
		const event: YaokiEvent = {
			...details,
			policy: this.name,
			timestamp: runtime.wallNow(),
			...(plan.name === this.name || plan.name === UNNAMED ? {} : { pipeline: plan.name }),
			...(name === undefined ? {} : { call: name }),
			...(key === undefined ? {} : { key }),
		}
		for (const listener of this.#listeners) observe('a listener', listener, event)
	}
}
