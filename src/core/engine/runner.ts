/**
 * The production runner: joins a call's halves with promises.
 *
 * It uses continuations, not an async function: measured, an async function around the operation makes the success path
 * half as expensive again and adds 250 bytes to every call that waits. What follows a wait or a queue runs in a
 * continuation of the caller, never in a timer callback or in another call's completion, so the async context is always
 * the caller's, without an import from Node.
 *
 * In this runner a call never settles before its operation, and the result is chained to it. Layers that may settle a
 * call earlier (timeout, hedge) select interruptible-runner.ts.
 */
import type { Call } from './call.ts'
import type { CallContext } from './call-options.ts'
import { DONE, PARK, REJECTED, type Step } from './layer.ts'
import { createRejection } from './rejection.ts'

/**
 * Runs a call from this step on. One function from the caller to the operation, because each frame between them adds 5 %
 * to a failed attempt: an operation that fails creates an Error, and most of its cost is the depth of the stack.
 */
export function run(call: Call, step: Step = call.begin()): Promise<unknown> {
	if (step === DONE) return call.ok ? Promise.resolve(call.value) : rejectSoon(call.value)
	if (step === REJECTED) return rejectSoon(createRejection(call))
	const { runner } = call.pipeline
	if (runner) return runner(call, step)
	if (call.lastAttempt) return runLoop(call, step)
	if (isWait(step)) return wait(call, step).then(() => run(call, call.resume()))
	try {
		const started = Promise.resolve(operationOf(call)(call.context()))
		// Kept in the call until it has an outcome: as a variable of the continuations it would cost each success 7 %.
		call.value = started
		return started.then(
			(value) => resultOrPromise(call, call.settle(true, value)),
			(error) => {
				const rejected = call.value as Promise<unknown>
				const step = call.settle(false, error)
				// The operation's own promise, which is already handled, costs half as much as another rejected one.
				return step === DONE && !call.ok && call.value === error ? rejected : run(call, step)
			},
		)
	} catch (error) {
		return run(call, call.settle(false, error))
	}
}

const resultOrPromise = (call: Call, step: Step): unknown =>
	step === DONE && call.ok ? call.value : run(call, step)

/**
 * Rejects in the next microtask, when the caller has attached its handlers. A promise that is rejected without a handler
 * is reported to the host, and reported again when it gets one: measured, three quarters of the cost of `Promise.reject`.
 */
export const rejectSoon = (error: unknown): Promise<never> =>
	new Promise((_, reject) => {
		void nextMicrotask.then(() => reject(error))
	})

/** Its continuations run in the next microtask, after those of an operation that settled immediately. */
export const nextMicrotask: Promise<void> = /* @__PURE__ */ Promise.resolve()

/**
 * Runs the attempts after a failure in a loop, which does not grow the promise chain: V8 walks it for the stack of each new Error. And `await`
 * links the operation to its callers immediately. A promise that a continuation returns is linked a microtask later, and until then an error
 * has a stack without callers.
 */
async function runLoop(call: Call, from: Step): Promise<unknown> {
	for (let step = from; step !== DONE; ) {
		if (isWait(step)) {
			await wait(call, step)
			step = call.resume()
			continue
		}
		try {
			step = call.settle(true, await operationOf(call)(call.context()))
		} catch (error) {
			step = call.settle(false, error)
		}
	}
	return run(call, DONE)
}

/** Returns the operation, or its substitute. */
export const operationOf = (call: Call): ((context: CallContext) => unknown) =>
	call.rare?.substitute ?? (call.operation as never)

export const isWait = (step: Step): boolean => step >= 0 || step === PARK

/** A wait of 0 ms still yields to the event loop: aborts and timers must run between two attempts. */
export function wait(call: Call, step: Step): Promise<void> {
	const over = new Promise<void>(captureResolve)
	call.wake = lastResolve as () => void
	startWait(call, step)
	return over
}

/** One shared function for all promises: a closure per promise costs a third of a bare await. */
export const captureResolve = (resolve: (value: never) => void): void => {
	lastResolve = resolve as (value: unknown) => void
}
/** The `resolve` function of the promise that was created last. */
export let lastResolve: (value: unknown) => void

/** Wakes the call when the time is over, the caller aborts or the deadline expires. Leaves no timer and no listener behind. */
export function startWait(call: Call, ms: number): void {
	const { options, pipeline, wake, current } = call
	const signal = options?.signal
	const { runtime } = current ?? pipeline
	if (!wake) return
	if (ms === PARK) call.queuedMs ??= 0
	pipeline.observer?.onWait(call)
	// A wait that only its time or another call can end needs nothing else.
	if (!signal && !(ms < 0 ? options?.deadline : pipeline.runner)) {
		if (ms >= 0) runtime.setTimer(ms, wake)
		return
	}
	let cancel: (() => void) | undefined
	const end = () => {
		cancel?.()
		signal?.removeEventListener('abort', end)
		wake()
	}
	call.wake = end
	// Before the deadline, which calls back immediately if it has expired.
	signal?.addEventListener('abort', end)
	cancel = ms >= 0 ? runtime.setTimer(ms, end) : options?.deadline?.onExpiry(end)
	// A hook may have aborted the signal already, and a signal emits `abort` only once.
	if (signal?.aborted) end()
}
