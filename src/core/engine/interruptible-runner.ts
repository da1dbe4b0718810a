/**
 * The runner of production for calls that may be answered before their work does, by a timeout or a hedge.
 *
 * Most work answers at once or takes a while, so a call looks again in the next microtask, after that of work which has
 * answered by then. Only if it has not, an answer of the call's own is made, and whatever is needed for an interruption, with a
 * continuation in the caller's own async context. So work that answers at once pays for none of it.
 */
import type { Call } from './call.ts'
import { DONE, type Step } from './layer.ts'
import { captureResolve, isWait, lastResolve, startOperation, wait } from './runner.ts'

export function runInterruptibly(call: Call, step: Step): Promise<unknown> {
	if (!isWait(step)) return runOperation(call, true)
	const answer = deferResult(call)
	advance(call, step)
	return answer
}

/** Carries a branch of a call from this step on and tells when it has ended; how is written in the branch itself. */
export function runBranch(call: Call, step: Step, ended: () => void): void {
	call.rareState.resolveResult = ended
	advance(call, step)
}

export function deferResult(call: Call): Promise<unknown> {
	const answer = new Promise(captureResolve)
	call.rareState.resolveResult = lastResolve
	return answer
}

const outcome = ({ ok, value }: Call): unknown => (ok ? value : Promise.reject(value))

export function advance(call: Call, step: Step): void {
	if (step === DONE) call.rare?.resolveResult?.(outcome(call))
	else if (isWait(step)) {
		call.onPending()
		void wait(call, step).then(() => advance(call, call.resume()))
	} else void runOperation(call, false)
}

/** Begins the work, and looks in the next microtask whether it has answered. The promise of the first time is the call's. */
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
		const answer = isFirst ? deferResult(call) : undefined
		awaitInterruption(call, turn)
		return answer
	})
}

function onSettled(call: Call, turn: number, ok: boolean, value: unknown): void {
	if (call.endRun(turn)) advance(call, call.settle(ok, value))
}

/** If the work of this turn takes a while, an interruption may come from now on. */
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

/** Its continuations run in the next microtask, after that of work which has answered at once. */
const nextMicrotask = /* @__PURE__ */ Promise.resolve()
