/**
 * The runner of production: joins a call's halves with promises.
 *
 * Continuations and not an async function: measured, an async function around the work costs half as much again on
 * the success path, and 150 bytes more for every call that waits. Whatever goes on after a wait, a queue or an interruption
 * does so in a continuation of the caller's own and is never called from a timer or from another caller's end: so the async context
 * is always the caller's, without an import from Node.
 *
 * Where nothing can answer before the work does, the answer is chained to the work. Otherwise it is a promise of its own, and
 * whatever is needed for an interruption is made only if the work has not answered by the next microtask.
 */
import { InvalidOptionError } from '../errors/errors.ts'
import type { Call } from './call.ts'
import type { CallContext } from './call-options.ts'
import { DONE, GO, type Step, SUBSTITUTE } from './layer.ts'

/** Every attempt adds a link to a chain of promises, and each new Error walks it for its stack; so it is kept short. */
const LONGEST_CHAIN = 8

export function run(call: Call): Promise<unknown> {
	if (typeof call.work !== 'function')
		return Promise.reject(new InvalidOptionError('fn', call.work, 'a function'))
	return onward(call, call.begin())
}

/** Carries a branch of a call from this step on and tells when it has ended; how is written in the branch itself. */
export function branch(call: Call, step: Step, ended: () => void): void {
	call.answer = ended
	drive(call, step)
}

function onward(call: Call, step: Step): Promise<unknown> {
	if (step === DONE) return call.ok ? Promise.resolve(call.value) : Promise.reject(call.value)
	if (call.plan.interrupts || call.attempt >= LONGEST_CHAIN) {
		const answer = new Promise(takeResolve)
		call.answer = latestResolve
		drive(call, step)
		return answer
	}
	if (step !== GO) return gate(call, step).then((next) => carryOn(call, next))
	try {
		return begun(call).then(
			(value) => carryOn(call, call.settle(true, value)),
			(error) => carryOn(call, call.settle(false, error)),
		)
	} catch (error) {
		return onward(call, call.settle(false, error))
	}
}

/** In a chain: the result, or a promise of it. Without a step, a wait is over. */
function carryOn(call: Call, from: Step | undefined): unknown {
	const step = from ?? call.resume()
	return step === DONE && call.ok ? call.value : onward(call, step)
}

/** Without a chain: goes on until the call can be answered. */
function drive(call: Call, step: Step): void {
	if (step === DONE) call.answer?.(call.ok ? call.value : Promise.reject(call.value))
	else if (step === GO || step === SUBSTITUTE) work(call)
	else {
		call.linger()
		listen(call, step)
	}
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
		if (turn !== call.turn && !call.aside?.cut) return
		call.linger()
		listen(call, GO)
	})
}

function answered(call: Call, turn: number, ok: boolean, value: unknown): void {
	if (call.endTurn(turn)) drive(call, call.settle(ok, value))
}

/** Has the call driven on when a wait is over or an interruption has come. */
function listen(call: Call, step: Step): void {
	void gate(call, step).then(() => {
		// A result may have come first; then nothing is waited for any more, or something else is.
		if (step !== GO || call.aside?.cut) drive(call, call.resume())
	})
}

/** A promise that is kept when a wait is over, or when somebody wakes the call. */
function gate(call: Call, step: Step): Promise<undefined> {
	const opened = new Promise<undefined>(takeResolve)
	call.wake = latestResolve as () => void
	if (call.aside?.cut) call.wake()
	else if (step !== GO) call.pause(step)
	return opened
}

function begun(call: Call): Promise<unknown> {
	const work: (context: CallContext) => unknown = call.aside?.instead ?? (call.work as never)
	return Promise.resolve(work(call.context()))
}

/** One function for all promises instead of a closure for each: that is a third of a bare await. */
let latestResolve: (value: unknown) => void
const takeResolve = (resolve: (value: never) => void): void => {
	latestResolve = resolve as (value: unknown) => void
}

/** Its continuations run in the next microtask, after that of work which has answered at once. */
const soon = /* @__PURE__ */ Promise.resolve()
