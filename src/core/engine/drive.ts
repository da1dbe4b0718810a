/**
 * The runner of production for calls that may be answered before their work does, by a timeout or a hedge. The answer is a promise
 * of its own, and whatever is needed for an interruption is made only if the work has not answered by the next microtask. An
 * interruption goes on in a continuation that was made then, in the caller's own async context.
 */
import type { Call } from './call.ts'
import { DONE, type Step } from './layer.ts'
import { begun, isWait, latestResolve, takeResolve, waited } from './runner.ts'

export function drive(call: Call, step: Step): Promise<unknown> {
	const answer = new Promise(takeResolve)
	call.answer = latestResolve
	goOn(call, step)
	return answer
}

/** Carries a branch of a call from this step on and tells when it has ended; how is written in the branch itself. */
export function driveBranch(call: Call, step: Step, ended: () => void): void {
	call.answer = ended
	goOn(call, step)
}

function goOn(call: Call, step: Step): void {
	if (step === DONE) call.answer?.(call.ok ? call.value : Promise.reject(call.value))
	else if (isWait(step)) {
		call.linger()
		void waited(call, step).then(() => goOn(call, call.resume()))
	} else work(call)
}

function work(call: Call): void {
	const turn = call.beginTurn()
	try {
		begun(call).then(
			(value) => answered(call, turn, true, value),
			(error) => answered(call, turn, false, error),
		)
	} catch (error) {
		answered(call, turn, false, error)
		return
	}
	void soon.then(() => {
		if (turn === call.turn || call.aside?.cut) listen(call)
	})
}

function answered(call: Call, turn: number, ok: boolean, value: unknown): void {
	if (call.endTurn(turn)) goOn(call, call.settle(ok, value))
}

/** The work takes a while: an interruption may come from now on. */
function listen(call: Call): void {
	const interrupted = new Promise<void>(takeResolve)
	call.wake = latestResolve as () => void
	void interrupted.then(() => {
		if (call.aside?.cut) goOn(call, call.resume())
	})
	call.linger()
	if (call.aside?.cut) call.wake()
}

/** Its continuations run in the next microtask, after that of work which has answered at once. */
const soon = /* @__PURE__ */ Promise.resolve()
