/**
 * The production runner for calls that may settle before their operation does, because of a timeout or a hedge.
 *
 * Many operations settle immediately, so the call first checks in the next microtask, which runs after that of an
 * operation that has settled by then. Only if it has not, the runner creates a separate result promise and what an
 * interruption needs, with a continuation in the caller's async context. Operations that settle immediately pay for
 * none of it.
 */
import type { Call } from './call.ts'
import { DONE, type Step } from './layer.ts'
import { captureResolve, isWait, lastResolve, startOperation, wait } from './runner.ts'

export function runInterruptibly(call: Call, step: Step): Promise<unknown> {
	if (!isWait(step)) return runOperation(call, true)
	const result = deferResult(call)
	advance(call, step)
	return result
}

/** Runs a branch of a call from this step on and calls `ended`. The outcome is in the branch itself. */
export function runBranch(call: Call, step: Step, ended: () => void): void {
	call.rareState.resolveResult = ended
	advance(call, step)
}

export function deferResult(call: Call): Promise<unknown> {
	const result = new Promise(captureResolve)
	call.rareState.resolveResult = lastResolve
	return result
}

const outcome = ({ ok, value }: Call): unknown => (ok ? value : Promise.reject(value))

export function advance(call: Call, step: Step): void {
	if (step === DONE) call.rare?.resolveResult?.(outcome(call))
	else if (isWait(step)) {
		call.onPending()
		void wait(call, step).then(() => advance(call, call.resume()))
	} else void runOperation(call, false)
}

/**
 * Starts the operation and checks in the next microtask whether it has settled. The promise of the first run is the
 * call's result.
 */
function runOperation(call: Call, isFirst: boolean): Promise<unknown> {
	const turn = call.beginRun()
	try {
		startOperation(call).then(
			(value) => onSettled(call, turn, true, value),
			(error) => onSettled(call, turn, false, error),
		)
	} catch (error) {
		onSettled(call, turn, false, error)
	}
	return nextMicrotask.then(() => {
		if (isFirst && call.isOver) return outcome(call)
		const result = isFirst ? deferResult(call) : undefined
		awaitInterruption(call, turn)
		return result
	})
}

function onSettled(call: Call, turn: number, ok: boolean, value: unknown): void {
	if (call.endRun(turn)) advance(call, call.settle(ok, value))
}

/** If the operation of this run is still pending, accepts interruptions from now on. */
function awaitInterruption(call: Call, turn: number): void {
	if (turn !== call.run && !call.rare?.interruption) return
	const interrupted = new Promise<void>(captureResolve)
	call.wake = lastResolve as () => void
	void interrupted.then(() => {
		if (call.rare?.interruption) advance(call, call.resume())
	})
	call.onPending()
	if (call.rare?.interruption) call.wake()
}

/** Its continuations run in the next microtask, after those of an operation that settled immediately. */
const nextMicrotask = /* @__PURE__ */ Promise.resolve()
