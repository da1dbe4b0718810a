import type { EventDetails, Listener, YaokiEvent } from '../events/events.ts'
import type { Call, Layer } from './call.ts'
import { observe } from './hooks.ts'
import type { Surroundings } from './layer.ts'
import type { Unseated } from './plan.ts'
import { Policy, UNNAMED } from './policy.ts'
import type { PolicyOptions } from './policy-options.ts'
import { OUTSIDE } from './surroundings.ts'

/** Tells an event of a call; or of no call at all, as when an operator resets a breaker. */
export type Tell = (call: Call | undefined, around: Surroundings | undefined, details: EventDetails) => void

/** A layer that tells events itself. */
export interface TellingLayer extends Layer {
	/** Undefined while nobody listens, so that events then cost one comparison. */
	tell: Tell | undefined
}

const NOBODY: readonly Listener[] = []

/** A policy that is one layer and not a pipeline of several: it has listeners of its own. */
export abstract class LeafPolicy extends Policy {
	readonly #layer: Layer & Partial<TellingLayer>
	/** @internal Where it stands, as far as it knows: a pipeline may have handed it a runtime. */
	protected around: Surroundings
	#listeners: readonly Listener[] = NOBODY

	/** @internal */
	constructor(name: string, own: PolicyOptions, layer: Layer) {
		super(name, own)
		this.#layer = layer
		this.around = this.surroundings(OUTSIDE)
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
	override seats(around: Surroundings): readonly Unseated[] {
		const inside = this.surroundings(around)
		// A call of its own, outside of its pipeline, does not take the pipeline's clock away.
		if (around !== OUTSIDE) this.around = inside
		const { runtime, classify } = inside
		return [{ layer: this.#layer, runtime, classify }]
	}

	/** @internal Somebody listens now, or nobody does any more: then events are not even made. */
	protected heard(isHeard: boolean): void {
		this.#layer.tell = isHeard ? (...facts) => this.emit(...facts) : undefined
	}

	/** @internal */
	protected emit(call: Call | undefined, around: Surroundings | undefined, details: EventDetails): void {
		const { runtime } = around ?? this.around
		const { name, key } = call?.options ?? {}
		const pipeline = call?.plan.name ?? UNNAMED
		const event: YaokiEvent = {
			...details,
			policy: this.name,
			timestamp: runtime.wallNow(),
			...(pipeline === this.name || pipeline === UNNAMED ? {} : { pipeline }),
			...(name === undefined ? {} : { call: name }),
			...(key === undefined ? {} : { key }),
		}
		for (const listener of this.#listeners) observe('a listener', listener, event)
	}
}
