/**
 * How a timeout or a hedge ends a part of a call, whatever its operation is doing. Not part of call.ts, so
 * that pipelines without them do not bundle it.
 */

import type { StopReason } from '../explain/record.ts'
import type { BoundLayer, Call, RareState } from './call.ts'
import type { Step } from './layer.ts'
import type { Orphan } from './rare-state.ts'
import { abortScope, type Scope } from './scope.ts'

type Interruption = NonNullable<RareState['interruption']>

/**
 * Ends the part inside `bound`, or the whole call, with this error, and aborts the scope's signal. The layer
 * `bound` itself receives the error as the outcome. The layers in between are left by the runner, in the
 * caller's async context, not here in a timer's.
 */
export function interrupt(
	call: Call,
	bound: BoundLayer | undefined,
	scope: Scope,
	error: unknown,
	stop: StopReason,
): void {
	const { rareState } = call
	// If two interruptions coincide, the outer one wins.
	const isFirst =
		!call.isOver && (!rareState.interruption || indexOf(rareState.interruption.bound) > indexOf(bound))
	if (isFirst) {
		rareState.interruption = { bound, error, stop, unwind }
		if (call.phase === 'running') trackOrphan(call)
	}
	// The signal aborts last: the operation may settle then, and that result must be ignored.
	abortScope(scope, error)
	if (isFirst) call.wake?.()
}

const indexOf = (bound: BoundLayer | undefined): number => bound?.index ?? -1

/** One function for all interruptions: a closure for each would keep twice as many bytes until the call continues. */
function unwind(this: Interruption, call: Call): Step {
	const { bound, error, stop } = this
	call.reject(error, stop, bound)
	const { rareState } = call
	rareState.ending = stop
	rareState.interruption = undefined
	rareState.substitute = undefined
	if (!bound) return 'done'
	if (call.stop === stop) call.stop = undefined
	return call.runLeave()
}

/** The call does not complete synchronously. Layers now create what would be too expensive for every call. */
export function notifyPending(call: Call): void {
	// Layers around a branch belong to the call that it is a branch of.
	const outermost = call.rare?.branch?.index ?? -1
	for (let bound = call.current; bound && bound.index > outermost; bound = bound.outer)
		bound.layer.onPending?.(call, bound)
}

/** The operation starts. Returns the number of its run. */
export function beginRun(call: Call): number {
	call.phase = 'running'
	return ++call.run
}

/** The operation of a run has ended. Returns whether the call still waits for it. */
export function endRun(call: Call, turn: number): boolean {
	const isInTime = turn === call.run
	if (isInTime) {
		call.run++
		call.phase = 'idle'
	} else
		for (const late of call.rare?.orphans ?? [])
			if (late.run === turn && late.index === Infinity) for (const end of late.onEnd.splice(0)) end()
	return isInTime
}

/**
 * The operation is still running, but its call no longer waits for it. Layers that hold a resource for it
 * learn when it ends.
 */
function trackOrphan(from: Call): void {
	const onEnd: Orphan['onEnd'] = []
	let run = from.run++
	from.phase = 'idle'
	let index = Infinity
	for (let call: Call | undefined = from; call; ) {
		const rare: RareState = call.rareState
		const orphan: Orphan = { run, index, onEnd }
		rare.orphans ??= []
		rare.orphans.push(orphan)
		onEnd.push(() => rare.orphans?.splice(rare.orphans.indexOf(orphan), 1))
		const { branch } = rare
		run = branch?.run ?? 0
		index = branch?.index ?? 0
		call = branch?.parent
	}
}
