/** A stream may run for hours. As the probe of a half-open circuit it has succeeded when its response begins. */
import { CircuitBreakerLayer } from '../../core/circuit-breaker/layer.ts'
import type { BoundLayer } from '../../core/engine/call.ts'
import type { Rpc } from './rpc.ts'

/** Returns the breaker of a call if its circuit is half-open. The call need not be a probe: it may have started before. */
function halfOpenBreaker({ call }: Rpc): BoundLayer<CircuitBreakerLayer> | undefined {
	for (let bound = call?.pipeline.first; bound; bound = bound.next)
		if (bound.layer instanceof CircuitBreakerLayer)
			return bound.layer.state === 'half-open' ? (bound as BoundLayer<CircuitBreakerLayer>) : undefined
	return undefined
}

export const mayBeProbe = (rpc: Rpc): boolean => halfOpenBreaker(rpc) !== undefined

/** The response of a stream has begun. */
export function confirmProbe(rpc: Rpc): void {
	const bound = halfOpenBreaker(rpc)
	if (bound && rpc.call) bound.layer.confirmProbe(rpc.call, bound)
}
