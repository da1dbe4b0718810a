/**
 * What a timeout and a hedge do to a call: they end a part of it, whatever its work is doing. Apart from the call, for who
 * has neither needs none of it.
 */

import type { StopReason } from '../explain/record.ts'
import type { BoundLayer, Call, RareState } from './call.ts'
import { DONE, type Orphan, type Step } from './layer.ts'
import { abortScope, type Scope } from './scope.ts'

/**
 * Ends what is inside `bound`, or all of it, with this error, and aborts the signal of the scope; the layer itself then lets it pass as the outcome. The layers in between
 * are told by the runner in the caller's own async context, not here, where a timer's holds.
 */
export function interrupt(
	call: Call,
	bound: BoundLayer | undefined,
	scope: Scope,
	error: unknown,
	stop: StopReason,
): void {
	const { rareState } = call
	// Of two at once, the outer one counts.
	const isFirst =
		!call.isOver && (!rareState.interruption || indexOf(rareState.interruption.bound) > indexOf(bound))
	if (isFirst) {
		rareState.interruption = { bound, unwind: () => unwind(call, rareState, bound, error, stop) }
		if (call.run % 2) trackOrphan(call)
	}
	// Not before: work may answer while it hears of this, and that comes too late.
	abortScope(scope, error)
	if (isFirst) call.wake?.()
}

const indexOf = (bound: BoundLayer | undefined): number => bound?.index ?? -1

function unwind(
	call: Call,
	rare: RareState,
	bound: BoundLayer | undefined,
	error: unknown,
	stop: StopReason,
): Step {
	call.reject(error, stop, bound)
	rare.ending = stop
	rare.interruption = undefined
	rare.substitute = undefined
	if (!bound) return DONE
	if (call.stop === stop) call.stop = undefined
	return call.runLeave()
}

/** The work is still being done, but nobody waits for it any more; some layers need to know when it ends, though. */
function trackOrphan(from: Call): void {
	const onEnd: Orphan['onEnd'] = []
	let run = from.run++
	let index = Infinity
	for (let call: Call | undefined = from; call; ) {
		const rare: RareState = call.rareState
		const orphan: Orphan = { run, index, onEnd }
		rare.orphans ??= []
		rare.orphans.push(orphan)
		onEnd.push(() => rare.orphans?.splice(rare.orphans.indexOf(orphan), 1))
		run = rare.branchRun ?? 0
		index = rare.branchIndex ?? 0
		call = rare.branchOf
	}
}
