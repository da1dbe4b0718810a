/**
 * The production host: joins the steps of a call with promises.
 *
 * The first attempt uses continuations, and only after a failure an async function takes over (`runLoop`).
 * Measured, an async function around the first attempt makes the success path a third more expensive and adds
 * 250 bytes to every call that waits. What follows a wait or a queue runs in a continuation of the caller,
 * never in a timer callback or in another call's completion, so the async context is always the caller's,
 * without an import from Node.
 *
 * A runner has the parts that differ: how an attempt and a wait end. In the plain runner, which is in this
 * file, a call never settles before its operation. Layers that may settle a call earlier (timeout, hedge)
 * select one of interruptible-runner.ts.
 */
import type { Call } from './call.ts'
import type { CallContext } from './call-options.ts'
import type { Step } from './layer.ts'
import { createRejection } from './rejection.ts'

/**
 * Runs a call from this step on. One function from the caller to the operation, because each frame between
 * them adds 5 % to a failed attempt: an operation that fails creates an Error, and most of its cost is the
 * depth of the stack.
 */
export function run(call: Call, step: Step = call.begin()): Promise<unknown> {
	if (step === 'done') return call.ok ? Promise.resolve(call.value) : rejectSoon(call.value)
	if (step === 'rejected') return rejectSoon(createRejection(call))
	if (call.lastAttempt) return runLoop(call, step)
	if (step !== 'run') return wait(call, step).then(() => advance(call, resume(call)))
	const { runner } = call.pipeline
	if (runner) return runner.start(call)
	try {
		const started = Promise.resolve(operationOf(call)(call.context()))
		// Kept in the call until it has an outcome: as a variable of the continuations it would cost each success
		// 7 %.
		call.value = started
		return started.then(
			(value) => advance(call, call.settle(true, value)),
			(error) => {
				const rejected = call.value as Promise<unknown>
				const step = call.settle(false, error)
				// The operation's own promise, which is already handled, costs half as much as another rejected one.
				return step === 'done' && !call.ok && call.value === error ? rejected : advance(call, step)
			},
		)
	} catch (error) {
		return run(call, call.settle(false, error))
	}
}

/** Continues a call inside a continuation of its promise. Returns the result, or a promise of it. */
export function advance(call: Call, step: Step): unknown {
	if (step !== 'done') return run(call, step)
	if (call.ok) return call.value
	// A rejected promise without a handler would cost more.
	throw call.value
}

/**
 * Runs the attempts after a failure in a loop, which does not grow the promise chain: V8 walks it for the
 * stack of each new Error. And `await` links the operation to its callers immediately. A promise that a
 * continuation returns is linked a microtask later, and until then an error has a stack without callers.
 */
async function runLoop(call: Call, from: Step): Promise<unknown> {
	const { runner } = call.pipeline
	for (let step = from; step !== 'done'; ) {
		if (step === 'run') step = await (runner ? runner.attempt(call) : startAttempt(call, settle, 0))
		else {
			await wait(call, step)
			step = resume(call)
		}
	}
	return advance(call, 'done')
}

const settle = (call: Call, ok: boolean, value: unknown): Step => call.settle(ok, value)

const resume = (call: Call): Step => call.pipeline.runner?.resume(call) ?? call.resume()

/**
 * Runs the operation. The promise resolves with what `settle` returns for its outcome. `settle` receives the
 * call and the number of the run, because a closure for each attempt would cost a success 10 % more bytes.
 */
export function startAttempt<End>(
	call: Call,
	settle: (call: Call, ok: boolean, value: unknown, turn: number) => End,
	turn: number,
): Promise<End> {
	try {
		return Promise.resolve(operationOf(call)(call.context())).then(
			(value) => settle(call, true, value, turn),
			(error) => settle(call, false, error, turn),
		)
	} catch (error) {
		return Promise.resolve(settle(call, false, error, turn))
	}
}

/**
 * Rejects in the next microtask, when the caller has attached its handlers. A promise that is rejected
 * without a handler is reported to the host, and reported again when it gets one: measured, three quarters of
 * the cost of `Promise.reject`.
 */
export const rejectSoon = (error: unknown): Promise<never> =>
	new Promise((_, reject) => {
		void nextMicrotask.then(() => reject(error))
	})

/** A continuation of it runs in the next microtask, after the continuation of an operation that settled immediately. */
export const nextMicrotask: Promise<void> = /* @__PURE__ */ Promise.resolve()

/** Returns the operation, or its substitute. */
export const operationOf = (call: Call): ((context: CallContext) => unknown) =>
	call.rare?.substitute ?? (call.operation as never)

/** A wait of 0 ms still yields to the event loop: aborts and timers must run between two attempts. */
function wait(call: Call, step: Step): Promise<void> {
	return new Promise((resolve) => {
		call.wake = resolve
		startWait(call, step)
		call.pipeline.runner?.onWait(call)
	})
}

/**
 * Wakes the call when the time of a `wait` is over, the caller aborts or the deadline expires. Leaves no timer
 * and no listener behind.
 */
export function startWait(call: Call, step: Step): void {
	const { options, pipeline, wake, current, waitMs } = call
	const signal = options?.signal
	const { runtime } = current ?? pipeline
	const isParked = step === 'park'
	if (!wake) return
	if (isParked) call.queuedMs ??= 0
	pipeline.observer?.onWait(call)
	// A wait that only its time or another call can end needs nothing else.
	if (!signal && !(isParked ? options?.deadline : pipeline.runner)) {
		if (!isParked) runtime.setTimer(waitMs, wake)
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
	cancel = isParked ? options?.deadline?.onExpiry(end) : runtime.setTimer(waitMs, end)
	// A hook may have aborted the signal already, and a signal emits `abort` only once.
	if (signal?.aborted) end()
}
