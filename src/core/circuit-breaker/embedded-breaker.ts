import { DEFAULT_ENV } from '../engine/compile.ts'
import { LeafPolicy } from '../engine/policy.ts'
import { CircuitBreakerLayer, DEFAULT_NAME } from './layer.ts'
import { type CircuitBreakerOptions, readCircuitBreakerOptions } from './options.ts'
import type { CircuitBreakerStats } from './stats.ts'

/**
 * A breaker inside a client, which programs have no access to. It has none of the methods by which they call or operate a `CircuitBreaker`:
 * those are a kilobyte of a bundle.
 */
export class EmbeddedBreaker extends LeafPolicy {
	declare protected readonly layer: CircuitBreakerLayer

	constructor(options: CircuitBreakerOptions) {
		super(DEFAULT_NAME, options, new CircuitBreakerLayer(readCircuitBreakerOptions(options)))
		if (options.onEvent) this.listen(options.onEvent)
	}

	get stats(): CircuitBreakerStats {
		const { runtime } = this.env
		return this.layer.stats(runtime.now(), runtime)
	}
}

/** Returns the circuit of a breaker. */
export function circuitOf(breaker: LeafPolicy | undefined): CircuitBreakerLayer | undefined {
	const layer = breaker?.layers(DEFAULT_ENV)[0]?.layer
	return layer instanceof CircuitBreakerLayer ? layer : undefined
}
