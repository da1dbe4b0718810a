import { DEFAULT_ENV } from '../engine/compile.ts'
import { LeafPolicy } from '../engine/policy.ts'
import type { CircuitBreakerStats } from './circuit.ts'
import { CircuitBreakerLayer, DEFAULT_NAME } from './layer.ts'
import { type CircuitBreakerOptions, readCircuitBreakerOptions } from './options.ts'

/**
 * A breaker inside a client, which programs have no access to. It has none of the methods by which they call
 * or operate a `CircuitBreaker`: those are a kilobyte of a bundle.
 */
export class EmbeddedBreaker extends LeafPolicy {
	declare protected readonly layer: CircuitBreakerLayer

	constructor(options: CircuitBreakerOptions) {
		super(DEFAULT_NAME, options, new CircuitBreakerLayer(readCircuitBreakerOptions(options)))
		if (options.onEvent) this.listen(options.onEvent)
	}

	get stats(): CircuitBreakerStats {
		const { runtime } = this.env
		return this.layer.circuit.stats(runtime.now(), runtime)
	}
}

/** Returns the layer of a circuit breaker. */
export function breakerLayerOf(breaker: LeafPolicy | undefined): CircuitBreakerLayer | undefined {
	const layer = breaker?.layers(DEFAULT_ENV)[0]?.layer
	return layer instanceof CircuitBreakerLayer ? layer : undefined
}

/** Makes an open circuit due for a probe, because the dependency may be back. */
export function endOpenTime(breaker: LeafPolicy | undefined): void {
	const { state, openState } = breakerLayerOf(breaker)?.circuit ?? {}
	if (openState && state === 'open') openState.until = -Infinity
}
