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
import { DONE, PARK, REFUSED, type Step } from './layer.ts'
import { pause } from './pause.ts'
import { refusal } from './refusal.ts'

/** Every attempt adds a link to a chain of promises, and each new Error walks it for its stack; so it is kept short. */
const LONGEST_CHAIN = 8

export const run = (call: Call): Promise<unknown> => runFrom(call, call.begin())

/** The same, begun already. */
export function runFrom(call: Call, step: Step): Promise<unknown> {
	const { drive } = call.plan
	if (step === REFUSED) return Promise.reject(refusal(call))
	return drive && step !== DONE ? drive(call, step) : onward(call, step)
}

function onward(call: Call, step: Step): Promise<unknown> {
	if (step === DONE) return call.ok ? Promise.resolve(call.value) : Promise.reject(call.value)
	if (call.attempt >= LONGEST_CHAIN) return loop(call, step)
	if (isWait(step)) return waited(call, step).then(() => carryOn(call, call.resume()))
	try {
		return begun(call).then(
			(value) => carryOn(call, call.settle(true, value)),
			(error) => carryOn(call, call.settle(false, error)),
		)
	} catch (error) {
		return onward(call, call.settle(false, error))
	}
}

/** The result, or a promise of it. */
const carryOn = (call: Call, step: Step): unknown =>
	step === DONE && call.ok ? call.value : onward(call, step)

/** The same without a chain, for the few calls that are made many times. */
async function loop(call: Call, from: Step): Promise<unknown> {
	for (let step = from; step !== DONE; ) {
		if (isWait(step)) {
			await waited(call, step)
			step = call.resume()
			continue
		}
		try {
			step = call.settle(true, await begun(call))
		} catch (error) {
			step = call.settle(false, error)
		}
	}
	return onward(call, DONE)
}

export const isWait = (step: Step): boolean => step >= 0 || step === PARK

/** A wait of nothing still lets the event loop turn: aborts and timers must be heard between two attempts. */
export function waited(call: Call, step: Step): Promise<void> {
	const over = new Promise<void>(takeResolve)
	call.wake = latestResolve as () => void
	pause(call, step)
	return over
}

/** Begins the work, or what is done in its place. May throw. */
export function begun(call: Call): Promise<unknown> {
	const work: (context: CallContext) => unknown = call.aside?.instead ?? (call.work as never)
	return Promise.resolve(work(call.context()))
}

/** One function for all promises instead of a closure for each: that is a third of a bare await. */
export const takeResolve = (resolve: (value: never) => void): void => {
	latestResolve = resolve as (value: unknown) => void
}
/** Of the promise that was made last. */
export let latestResolve: (value: unknown) => void
