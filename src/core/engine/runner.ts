/**
 * The runner of production: joins a call's halves with promises.
 *
 * Continuations and not an async function: measured, an async function around the work costs half as much again on
 * the success path, and 150 bytes more for every call that waits. Waiting resolves a promise and never calls the user's
 * function from a timer, so that the async context after a wait is the caller's own.
 */
import { InvalidOptionError } from '../errors/errors.ts'
import { type Call, DONE, GO, type Step } from './call.ts'
import type { CallContext } from './context.ts'

export type Work = (context: CallContext) => unknown

export function run(call: Call, work: Work): Promise<unknown> {
	if (typeof work !== 'function') return Promise.reject(new InvalidOptionError('fn', work, 'a function'))
	return carryOn(call, work, call.begin())
}

function carryOn(call: Call, work: Work, step: Step): Promise<unknown> {
	if (step === DONE) return call.ok ? Promise.resolve(call.value) : Promise.reject(call.value)
	if (step !== GO) {
		const pause = step > 0 ? new Promise<void>((wake) => call.pause(step, wake)) : Promise.resolve()
		return pause.then(() => carryOn(call, work, call.resume()))
	}
	try {
		return Promise.resolve(work(call.context())).then(
			(value) => settle(call, work, true, value),
			(error) => settle(call, work, false, error),
		)
	} catch (error) {
		return carryOn(call, work, call.settle(false, error))
	}
}

function settle(call: Call, work: Work, ok: boolean, value: unknown): unknown {
	const step = call.settle(ok, value)
	return step === DONE && call.ok ? call.value : carryOn(call, work, step)
}
