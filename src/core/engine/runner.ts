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

/** Every attempt adds a link to a chain of promises, and each new Error walks it for its stack; so it is kept short. */
const LONGEST_CHAIN = 8

export type Work = (context: CallContext) => unknown

export function run(call: Call, work: Work): Promise<unknown> {
	if (typeof work !== 'function') return Promise.reject(new InvalidOptionError('fn', work, 'a function'))
	return carryOn(call, work, call.begin())
}

function carryOn(call: Call, work: Work, step: Step): Promise<unknown> {
	if (step === DONE) return call.ok ? Promise.resolve(call.value) : Promise.reject(call.value)
	if (call.attempt >= LONGEST_CHAIN) return loop(call, work, step)
	if (step !== GO) return pause(call, step).then(() => carryOn(call, work, call.resume()))
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

/** A wait of nothing still lets the event loop turn: aborts and timers must be heard between two attempts. */
const pause = (call: Call, ms: number): Promise<void> => new Promise((wake) => call.pause(ms, wake))

/** The same without a chain, for the few calls that are made many times. */
async function loop(call: Call, work: Work, from: Step): Promise<unknown> {
	let step = from
	while (step !== DONE) {
		if (step !== GO) {
			await pause(call, step)
			step = call.resume()
			continue
		}
		let ok = true
		let value: unknown
		try {
			value = await work(call.context())
		} catch (error) {
			ok = false
			value = error
		}
		step = call.settle(ok, value)
	}
	if (call.ok) return call.value
	throw call.value
}
