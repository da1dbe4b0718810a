/**
 * The runner of production: joins a call's halves with promises.
 *
 * The first attempt is not awaited but given two continuations. Measured, that costs two thirds of an async
 * function around it, and most calls succeed at the first attempt; the async loop below is for those that do not.
 * Waiting resolves a promise and never calls the user's function from a timer, so that the async context after a wait
 * is the caller's own.
 */
import { type Call, DONE, GO, type Step } from './call.ts'
import type { CallContext } from './context.ts'

export type Work = (context: CallContext) => unknown

export function run(call: Call, work: Work): Promise<unknown> {
	const step = call.begin()
	if (step !== GO) return carryOn(call, work, step)
	let answer: unknown
	try {
		answer = work(call.context())
	} catch (error) {
		return carryOn(call, work, call.settle(false, error))
	}
	return Promise.resolve(answer).then(
		(value) => {
			const next = call.settle(true, value)
			return next === DONE && call.ok ? call.value : carryOn(call, work, next)
		},
		(error) => carryOn(call, work, call.settle(false, error)),
	)
}

async function carryOn(call: Call, work: Work, from: Step): Promise<unknown> {
	let step = from
	while (step !== DONE) {
		if (step === GO) {
			let ok = true
			let value: unknown
			try {
				value = await work(call.context())
			} catch (error) {
				ok = false
				value = error
			}
			step = call.settle(ok, value)
		} else {
			const ms = step
			if (ms > 0) await new Promise<void>((wake) => call.pause(ms, wake))
			step = call.resume()
		}
	}
	if (call.ok) return call.value
	throw call.value
}
