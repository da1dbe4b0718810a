import { CircuitBreaker } from './circuit-breaker.ts'

/** Makes an open circuit due for a probe: something other than a call has shown that the dependency may be back. */
export function endOpenTime(breaker: CircuitBreaker): void {
	if (CircuitBreaker.layerOf(breaker).state === 'open')
		breaker.restore({ ...breaker.snapshot(), openForMs: 0 })
}
