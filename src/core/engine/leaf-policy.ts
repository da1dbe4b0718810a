import type { EventDetails, PolicyListener, YaokiEvent } from '../events/events.ts'
import type { Call, Layer } from './call.ts'
import type { UnboundLayer } from './compile.ts'
import { DEFAULT_ENV } from './env.ts'
import { notify } from './hooks.ts'
import type { LayerEnv } from './layer.ts'
import { Policy, UNNAMED } from './policy.ts'
import type { PolicyOptions } from './policy-options.ts'

/** Tells an event of a call; or of no call at all, as when an operator resets a breaker. */
export type Emit = (call: Call | undefined, around: LayerEnv | undefined, details: EventDetails) => void

/** A layer that tells events itself. */
export interface ObservableLayer extends Layer {
	/** Undefined while nobody listens, so that events then cost one comparison. */
	emit: Emit | undefined
}

const NO_LISTENERS: readonly PolicyListener[] = []

/** A policy that is one layer and not a pipeline of several: it has listeners of its own. */
export abstract class LeafPolicy extends Policy {
	readonly #layer: Layer & Partial<ObservableLayer>
	/** @internal Where it stands, as far as it knows: a pipeline may have handed it a runtime. */
	protected env: LayerEnv
	#listeners: readonly PolicyListener[] = NO_LISTENERS

	/** @internal */
	constructor(name: string, own: PolicyOptions, layer: Layer) {
		super(name, own)
		this.#layer = layer
		this.env = this.envInside(DEFAULT_ENV)
	}

	override subscribe(listener: PolicyListener): () => void {
		// A wrapper of its own, so that one function subscribed twice is heard twice and each unsubscribe ends its own.
		const heard: PolicyListener = (event) => listener(event)
		this.#listeners = [...this.#listeners, heard]
		this.setListening(true)
		return () => {
			this.#listeners = this.#listeners.filter((other) => other !== heard)
			this.setListening(this.#listeners.length > 0)
		}
	}

	/** @internal */
	override layers(around: LayerEnv): readonly UnboundLayer[] {
		const inside = this.envInside(around)
		// A call of its own, outside of its pipeline, does not take the pipeline's clock away.
		if (around !== DEFAULT_ENV) this.env = inside
		const { runtime, classify } = inside
		return [{ layer: this.#layer, runtime, classify }]
	}

	/** @internal Somebody listens now, or nobody does any more: then events are not even made. */
	protected setListening(isHeard: boolean): void {
		this.#layer.emit = isHeard ? (...facts) => this.emit(...facts) : undefined
	}

	/** @internal */
	protected emit(call: Call | undefined, around: LayerEnv | undefined, details: EventDetails): void {
		const { runtime } = around ?? this.env
		const { name, key } = call?.options ?? {}
		const pipeline = call?.pipeline.name ?? UNNAMED
		const event: YaokiEvent = {
			...details,
			policy: this.name,
			timestamp: runtime.wallNow(),
			...(pipeline === this.name || pipeline === UNNAMED ? {} : { pipeline }),
			...(name === undefined ? {} : { call: name }),
			...(key === undefined ? {} : { key }),
		}
		for (const listener of this.#listeners) notify('a listener', listener, event)
	}
}
