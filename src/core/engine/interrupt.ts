/**
 * What a timeout and a hedge do to a call: they end a part of it, whatever its work is doing. Apart from the call, for who
 * has neither needs none of it.
 */

import type { StopReason } from '../explain/record.ts'
import type { Late } from './aside.ts'
import type { Aside, Call, Seat } from './call.ts'
import { DONE, type Step } from './layer.ts'
import { abortScope, type Scope } from './scope.ts'

/**
 * Ends what is inside `seat`, or all of it, with this error, and aborts the signal of the scope; the layer itself then lets it pass as the outcome. The layers in between
 * are told by the runner in the caller's own async context, not here, where a timer's holds.
 */
export function interrupt(
	call: Call,
	seat: Seat | undefined,
	scope: Scope,
	error: unknown,
	stop: StopReason,
): void {
	const { extra } = call
	// Of two at once, the outer one counts.
	const isFirst = !call.isOver && (!extra.cut || placeOf(extra.cut.seat) > placeOf(seat))
	if (isFirst) {
		extra.cut = { seat, carryOut: () => unwind(call, extra, seat, error, stop) }
		if (call.turn % 2) leaveBehind(call)
	}
	// Not before: work may answer while it hears of this, and that comes too late.
	abortScope(scope, error)
	if (isFirst) call.wake?.()
}

const placeOf = (seat: Seat | undefined): number => seat?.place ?? -1

function unwind(call: Call, extra: Aside, seat: Seat | undefined, error: unknown, stop: StopReason): Step {
	call.refuse(error, stop, seat)
	extra.ending = stop
	extra.cut = undefined
	extra.instead = undefined
	if (!seat) return DONE
	if (call.stop === stop) call.stop = undefined
	return call.turnBack()
}

/** The work is still being done, but nobody waits for it any more; some layers need to know when it ends, though. */
function leaveBehind(from: Call): void {
	const onEnd: Late['onEnd'] = []
	let turn = from.turn++
	let place = Infinity
	for (let call: Call | undefined = from; call; ) {
		const extra: Aside = call.extra
		const late: Late = { turn, place, onEnd }
		extra.late ??= []
		extra.late.push(late)
		onEnd.push(() => extra.late?.splice(extra.late.indexOf(late), 1))
		turn = extra.branchTurn ?? 0
		place = extra.branchPlace ?? 0
		call = extra.branchOf
	}
}
