/**
 * Refusals whose error is made further out than where they are decided: most of what an error costs is the depth of its stack, and
 * an open circuit refuses by the thousand.
 */
import { remember } from '../explain/record.ts'
import { type Call, OVER } from './call.ts'
import { REFUSED, type Step } from './layer.ts'

/** The outermost layer does not let the call in; whoever runs the call makes the error. */
export function refuseBy(call: Call, make: () => unknown): Step {
	call.stop = 'refused'
	call.value = make
	call.plan.streak = 0
	call.turn = OVER
	return REFUSED
}

/** The error has been made. */
export function refusedWith(call: Call, error: unknown): unknown {
	call.value = error
	remember(error, call)
	return error
}

/** The error, made now. */
export const refusal = (call: Call): unknown => refusedWith(call, (call.value as () => unknown)())
