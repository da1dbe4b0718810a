/** The isolation of a circuit by an operator. Apart, because most circuits are never isolated. */
import type { RandomSource } from '../backoff/formula.ts'
import type { Circuit } from './circuit.ts'
import { createOpenState, type Isolation } from './open-state.ts'

/**
 * Rejects all calls until every caller has released the isolation. The release restores the state that the
 * isolation found, and the time in between has passed: windows and the open time are older by it. Results of
 * calls that started before, probes included, belong to an earlier state and are ignored.
 */
export function isolate(circuit: Circuit, now: number, source: RandomSource): () => void {
	circuit.expireProbe(now, source)
	circuit.flushPendingSuccesses(now)
	const found = circuit.openState
	const isolation: Isolation = found?.isolation ?? { handles: 0, state: circuit.state, openState: found }
	// Before listeners are notified, because a listener may isolate and release the circuit too.
	isolation.handles++
	if (isolation !== found?.isolation) {
		found?.probes.clear()
		circuit.enterState('isolated', createOpenState(Infinity, 0, 0, found?.rejected, undefined, isolation))
	}
	let isHeld = true
	return () => {
		if (!isHeld) return
		isHeld = false
		if (--isolation.handles) return
		const { state, openState } = isolation
		if (openState) openState.rejected = circuit.openState?.rejected ?? 0
		circuit.enterState(state, openState)
	}
}
