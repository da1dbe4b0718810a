/**
 * The production runner for calls that may settle before their operation does, because of a timeout or a hedge.
 *
 * Many operations settle immediately, so the call first checks in the next microtask, which runs after that of an
 * operation that has settled by then. Only if it has not, the runner creates what an interruption needs: a promise that
 * ends with the operation or with an interruption, and whose continuation runs in the caller's async context.
 * Operations that settle immediately pay for none of it.
 *
 * All promises from the operation to the caller form one chain, each with a single continuation: along such a chain V8
 * finds the callers for the stack of an error. A result promise that is resolved from elsewhere would end it.
 */
import type { Call } from './call.ts'
import { endRun, notifyPending } from './interrupt.ts'
import { DONE, type Step } from './layer.ts'
import { captureResolve, isWait, lastResolve, nextMicrotask, operationOf, wait } from './runner.ts'

/** The next step of the call; undefined if it was interrupted. */
type RunEnd = Step | undefined

/** Starts the operation and checks in the next microtask whether it has settled. */
export function runInterruptibly(call: Call, step: Step): Promise<unknown> {
	if (isWait(step)) return runWait(call, step)
	// As startRun, which would cost each call one more object for the variables of its continuations.
	const turn = ++call.run
	let settled: Promise<RunEnd>
	try {
		settled = Promise.resolve(operationOf(call)(call.context())).then(
			(value) => settle(call, turn, true, value),
			(error) => settle(call, turn, false, error),
		)
	} catch (error) {
		settled = Promise.resolve(settle(call, turn, false, error))
	}
	return nextMicrotask.then(() => (call.isOver ? advance(call, DONE) : finishRun(call, settled)))
}

/** The same for an operation that never settles immediately: accepts interruptions from the start. */
export const runPending = (call: Call, step: Step): Promise<unknown> =>
	isWait(step) ? runWait(call, step) : finishRun(call, startRun(call))

/** Runs a branch of a call from this step on and calls `ended`. The outcome is in the branch itself. */
export function runBranch(call: Call, step: Step, ended: () => void): void {
	call.rareState.onBranchEnd = ended
	void advance(call, step)
}

/** Returns the result, or a promise of it. */
function advance(call: Call, step: Step): unknown {
	if (step === DONE) {
		call.rare?.onBranchEnd?.()
		if (call.ok) return call.value
		// A rejected promise without a handler would cost more.
		throw call.value
	}
	return call.lastAttempt ? runLoop(call, step) : runInterruptibly(call, step)
}

const runWait = (call: Call, step: Step): Promise<unknown> =>
	pendingWait(call, step).then(() => advance(call, resume(call)))

/** Layers are notified after the wait has begun, so that one that sees nothing to wait for can end it. */
function pendingWait(call: Call, step: Step): Promise<void> {
	const over = wait(call, step)
	notifyPending(call)
	return over
}

const finishRun = (call: Call, settled: Promise<RunEnd>): Promise<unknown> =>
	untilEnd(call, settled).then((end) => advance(call, nextStep(call, end)))

/** An interruption may still come after the operation has settled, before the call continues. */
const nextStep = (call: Call, end: RunEnd): Step =>
	end === undefined || call.rare?.interruption ? resume(call) : end

/** Runs the attempts after a failure in a loop, as the other runner does. */
async function runLoop(call: Call, from: Step): Promise<unknown> {
	for (let step = from; step !== DONE; ) {
		if (isWait(step)) {
			await pendingWait(call, step)
			step = resume(call)
		} else step = nextStep(call, await untilEnd(call, startRun(call)))
	}
	return advance(call, DONE)
}

/**
 * The error of a timeout was created in the callback of a timer. Here V8 finds the callers, so its stack is captured again. The reason of
 * an abort is the caller's own and stays untouched.
 */
function resume(call: Call): Step {
	const { interruption } = call.rare ?? {}
	const isOwn = interruption && interruption.stop !== 'abort'
	const capture: unknown = isOwn && Reflect.get(Error, 'captureStackTrace')
	if (typeof capture === 'function') capture(Object(interruption?.error), resume)
	return call.resume()
}

/** Starts the operation. The promise resolves when it has settled, with undefined if the call no longer waits for it. */
function startRun(call: Call): Promise<RunEnd> {
	const turn = ++call.run
	try {
		return Promise.resolve(operationOf(call)(call.context())).then(
			(value) => settle(call, turn, true, value),
			(error) => settle(call, turn, false, error),
		)
	} catch (error) {
		return Promise.resolve(settle(call, turn, false, error))
	}
}

const settle = (call: Call, turn: number, ok: boolean, value: unknown): RunEnd =>
	endRun(call, turn) ? call.settle(ok, value) : undefined

/** Returns a promise that resolves when the operation has settled, or when an interruption wakes the call. */
function untilEnd(call: Call, settled: Promise<RunEnd>): Promise<RunEnd> {
	// The run is even if the operation has ended, and if an interruption has ended the wait for it.
	if (!(call.run % 2) && !call.rare?.interruption) return settled
	const ended = new Promise<RunEnd>(captureResolve)
	const wake = lastResolve as (end?: RunEnd) => void
	call.wake = wake
	void settled.then(wake)
	notifyPending(call)
	if (call.rare?.interruption) wake()
	return ended
}
