/**
 * The runner of production: joins a call's halves with promises.
 *
 * Continuations and not an async function: measured, an async function around the work costs half as much again on
 * the success path, and 150 bytes more for every call that waits. Whatever goes on after a wait or a queue does so in a
 * continuation of the caller's own and is never called from a timer or from another caller's end: so the async context is
 * always the caller's, without an import from Node.
 *
 * Here nothing can answer before the work does, and the answer is chained to it. Policies that may, bring their own way
 * (drive.ts).
 */
import type { Call } from './call.ts'
import type { CallContext } from './call-options.ts'
import { DONE, PARK, REJECTED, type Step } from './layer.ts'
import { createRejection } from './rejection.ts'
import { startWait } from './wait.ts'

/** Every attempt adds a link to a chain of promises, and each new Error walks it for its stack; so it is kept short. */
const MAX_PROMISE_CHAIN = 8

export const run = (call: Call): Promise<unknown> => runFrom(call, call.begin())

/** The same, begun already. */
export function runFrom(call: Call, step: Step): Promise<unknown> {
	const { runner } = call.pipeline
	if (step === REJECTED) return Promise.reject(createRejection(call))
	return runner && step !== DONE ? runner(call, step) : advance(call, step)
}

function advance(call: Call, step: Step): Promise<unknown> {
	if (step === DONE) return call.ok ? Promise.resolve(call.value) : Promise.reject(call.value)
	if (call.attempt >= MAX_PROMISE_CHAIN) return runLoop(call, step)
	if (isWait(step)) return wait(call, step).then(() => resultOrPromise(call, call.resume()))
	try {
		return startOperation(call).then(
			(value) => resultOrPromise(call, call.settle(true, value)),
			(error) => resultOrPromise(call, call.settle(false, error)),
		)
	} catch (error) {
		return advance(call, call.settle(false, error))
	}
}

/** The result, or a promise of it. */
const resultOrPromise = (call: Call, step: Step): unknown =>
	step === DONE && call.ok ? call.value : advance(call, step)

/** The same without a chain, for the few calls that are made many times. */
async function runLoop(call: Call, from: Step): Promise<unknown> {
	for (let step = from; step !== DONE; ) {
		if (isWait(step)) {
			await wait(call, step)
			step = call.resume()
			continue
		}
		try {
			step = call.settle(true, await startOperation(call))
		} catch (error) {
			step = call.settle(false, error)
		}
	}
	return advance(call, DONE)
}

export const isWait = (step: Step): boolean => step >= 0 || step === PARK

/** A wait of nothing still lets the event loop turn: aborts and timers must be heard between two attempts. */
export function wait(call: Call, step: Step): Promise<void> {
	const over = new Promise<void>(captureResolve)
	call.wake = lastResolve as () => void
	startWait(call, step)
	return over
}

/** Begins the work, or what is done in its place. May throw. */
export function startOperation(call: Call): Promise<unknown> {
	const work: (context: CallContext) => unknown = call.rare?.substitute ?? (call.operation as never)
	return Promise.resolve(work(call.context()))
}

/** One function for all promises instead of a closure for each: that is a third of a bare await. */
export const captureResolve = (resolve: (value: never) => void): void => {
	lastResolve = resolve as (value: unknown) => void
}
/** Of the promise that was made last. */
export let lastResolve: (value: unknown) => void
