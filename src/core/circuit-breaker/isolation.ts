/** The isolation of a circuit by an operator. Not a part of the circuit, because most circuits are never isolated. */
import type { RandomSource } from '../backoff/formula.ts'
import type { Circuit } from './circuit.ts'
import { createIsolation } from './open-state.ts'

/**
 * Rejects all calls until every caller has released the isolation. The release restores the state that the isolation
 * found, and the time in between has passed: windows and the open time are older by it. Results of calls from before,
 * probes too, are those of an earlier state.
 */
export function isolate(circuit: Circuit, now: number, source: RandomSource): () => void {
	circuit.expireProbe(now, source)
	circuit.flushPendingSuccesses(now)
	const before = circuit.openState
	const outage = before?.isolation ? before : createIsolation(circuit.state, before)
	const { isolation } = outage
	// Before listeners are notified, because a listener may isolate and release the circuit too.
	if (isolation) isolation.handles++
	if (outage !== before) {
		before?.probes.clear()
		circuit.enterState('isolated', outage)
	}
	let isHeld = true
	return () => {
		if (!isHeld || !isolation) return
		isHeld = false
		if (--isolation.handles) return
		const { state, openState } = isolation
		if (openState) openState.rejected = outage.rejected
		circuit.enterState(state, openState)
	}
}
