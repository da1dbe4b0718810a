/** The isolation of a circuit by an operator. Apart, because most circuits are never isolated. */
import type { RandomSource } from '../backoff/formula.ts'
import type { Circuit } from './circuit.ts'
import { createIsolation } from './open-state.ts'

/**
 * Rejects all calls until every caller has released the isolation. The release restores the state that the
 * isolation found, and the time in between has passed: windows and the open time are older by it. Results of
 * calls that started before, probes included, belong to an earlier state and are ignored.
 */
export function isolate(circuit: Circuit, now: number, source: RandomSource): () => void {
	circuit.expireProbe(now, source)
	circuit.flushPendingSuccesses(now)
	const before = circuit.openState
	const isolated = before?.isolation ? before : createIsolation(circuit.state, before)
	const { isolation } = isolated
	// Before listeners are notified, because a listener may isolate and release the circuit too.
	if (isolation) isolation.handles++
	if (isolated !== before) {
		before?.probes.clear()
		circuit.enterState('isolated', isolated)
	}
	let isHeld = true
	return () => {
		if (!isHeld || !isolation) return
		isHeld = false
		if (--isolation.handles) return
		const { state, openState } = isolation
		if (openState) openState.rejected = isolated.rejected
		circuit.enterState(state, openState)
	}
}
