import type { LeafPolicy } from '../engine/policy.ts'
import { circuitOf } from './embedded-breaker.ts'

/** Makes an open circuit due for a probe: something other than a call has shown that the dependency may be back. */
export function endOpenTime(breaker: LeafPolicy | undefined): void {
	const { state, openState } = circuitOf(breaker) ?? {}
	if (openState && state === 'open') openState.until = -Infinity
}
