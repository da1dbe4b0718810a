/**
 * The runner of production for calls that may be answered before their work does, by a timeout or a hedge.
 *
 * Most work answers at once or takes a while, so a call looks again in the next microtask, after that of work which has
 * answered by then. Only if it has not, an answer of the call's own is made, and whatever is needed for an interruption, with a
 * continuation in the caller's own async context. So work that answers at once pays for none of it.
 */
import type { Call } from './call.ts'
import { DONE, type Step } from './layer.ts'
import { begun, isWait, latestResolve, takeResolve, waited } from './runner.ts'

export function drive(call: Call, step: Step): Promise<unknown> {
	if (!isWait(step)) return work(call, true)
	const answer = later(call)
	goOn(call, step)
	return answer
}

/** Carries a branch of a call from this step on and tells when it has ended; how is written in the branch itself. */
export function driveBranch(call: Call, step: Step, ended: () => void): void {
	call.extra.answer = ended
	goOn(call, step)
}

export function later(call: Call): Promise<unknown> {
	const answer = new Promise(takeResolve)
	call.extra.answer = latestResolve
	return answer
}

const outcome = ({ ok, value }: Call): unknown => (ok ? value : Promise.reject(value))

export function goOn(call: Call, step: Step): void {
	if (step === DONE) call.aside?.answer?.(outcome(call))
	else if (isWait(step)) {
		call.linger()
		void waited(call, step).then(() => goOn(call, call.resume()))
	} else void work(call, false)
}

/** Begins the work, and looks in the next microtask whether it has answered. The promise of the first time is the call's. */
function work(call: Call, isFirst: boolean): Promise<unknown> {
	const turn = call.beginTurn()
	try {
		begun(call).then(
			(value) => answered(call, turn, true, value),
			(error) => answered(call, turn, false, error),
		)
	} catch (error) {
		answered(call, turn, false, error)
	}
	return soon.then(() => {
		if (isFirst && call.isOver) return outcome(call)
		const answer = isFirst ? later(call) : undefined
		listen(call, turn)
		return answer
	})
}

function answered(call: Call, turn: number, ok: boolean, value: unknown): void {
	if (call.endTurn(turn)) goOn(call, call.settle(ok, value))
}

/** If the work of this turn takes a while, an interruption may come from now on. */
function listen(call: Call, turn: number): void {
	if (turn !== call.turn && !call.aside?.cut) return
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
