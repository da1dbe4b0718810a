/**
 * The runners for calls that may settle before their operation does, because of a timeout or a
 * hedge.
 *
 * Many operations settle immediately, so the call first checks in the next microtask, which runs after that
 * of an operation that has settled by then. Only if it has not, the runner creates what an interruption
 * needs: a promise that ends with the operation or with an interruption, and whose continuation runs in the
 * caller's async context. Operations that settle immediately pay for none of it.
 *
 * All promises from the operation to the caller form one chain, each with a single continuation: along such a
 * chain V8 finds the callers for the stack of an error. A result promise that is resolved from elsewhere
 * would end it.
 */
import type { Call } from './call.ts'
import { beginRun, endRun, notifyPending } from './interrupt.ts'
import type { PromiseRunner, Step } from './layer.ts'
import { advance, nextMicrotask, operationOf, run, startAttempt } from './runner.ts'

/** The next step of the call; undefined if it was interrupted. */
type AttemptEnd = Step | undefined

/** Checks in the next microtask after the start of the operation whether it has settled. */
export const runInterruptibly: PromiseRunner<Call> = {
	start(call) {
		const turn = beginRun(call)
		let settled: Promise<AttemptEnd>
		// As `startAttempt`, whose variables would be one more object for each call.
		try {
			settled = Promise.resolve(operationOf(call)(call.context())).then(
				(value) => settle(call, true, value, turn),
				(error) => settle(call, false, error, turn),
			)
		} catch (error) {
			settled = Promise.resolve(settle(call, false, error, turn))
		}
		return nextMicrotask.then(() => (call.isOver ? advance(call, 'done') : finish(call, settled)))
	},
	attempt,
	onWait: notifyPending,
	resume,
}

/** Accepts interruptions from the start, for operations that never settle immediately. */
export const runPending: PromiseRunner<Call> = {
	start: (call) => finish(call, start(call)),
	attempt,
	onWait: notifyPending,
	resume,
}

/** Runs a branch of a call from this step on and calls `ended`. The outcome is in the branch itself. */
export function runBranch(call: Call, step: Step, ended: () => void): void {
	void run(call, step).then(ended)
}

/** Starts the operation. The promise resolves when it has settled, with undefined if the call no longer waits for it. */
const start = (call: Call): Promise<AttemptEnd> => startAttempt(call, settle, beginRun(call))

const settle = (call: Call, ok: boolean, value: unknown, turn: number): AttemptEnd =>
	endRun(call, turn) ? call.settle(ok, value) : undefined

const finish = (call: Call, settled: Promise<AttemptEnd>): Promise<unknown> =>
	untilEnd(call, settled).then((end) => advance(call, nextStep(call, end)))

function attempt(call: Call): Promise<Step> {
	return untilEnd(call, start(call)).then((end) => nextStep(call, end))
}

/** Returns a promise that resolves when the operation has settled, or when an interruption wakes the call. */
function untilEnd(call: Call, settled: Promise<AttemptEnd>): Promise<AttemptEnd> {
	if (call.phase !== 'running' && !call.rare?.interruption) return settled
	return new Promise((wake: (end?: AttemptEnd) => void) => {
		call.wake = wake
		void settled.then(wake)
		notifyPending(call)
		if (call.rare?.interruption) wake()
	})
}

/** An interruption may still come after the operation has settled, before the call continues. */
const nextStep = (call: Call, end: AttemptEnd): Step =>
	end === undefined || call.rare?.interruption ? resume(call) : end

/**
 * The error of a timeout was created in the callback of a timer. Here V8 finds the callers, so its stack is
 * captured again. The reason of an abort is the caller's own and stays untouched.
 */
function resume(call: Call): Step {
	const { interruption } = call.rare ?? {}
	const isOwn = interruption && interruption.stop !== 'abort'
	const capture: unknown = isOwn && Reflect.get(Error, 'captureStackTrace')
	if (typeof capture === 'function') capture(Object(interruption?.error), resume)
	return call.resume()
}
