/**
 * Refusals whose error is made further out than where they are decided: most of what an error costs is the depth of its stack, and
 * an open circuit refuses by the thousand.
 */
import { attachRecord } from '../explain/record.ts'
import { type Call, OVER } from './call.ts'
import { REJECTED, type Step } from './layer.ts'

/** The outermost layer does not let the call in; whoever runs the call makes the error. */
export function rejectLazily(call: Call, make: () => unknown): Step {
	call.stop = 'rejected'
	call.value = make
	call.pipeline.consecutiveSuccesses = 0
	call.run = OVER
	return REJECTED
}

/** The error has been made. */
export function finishRejection(call: Call, error: unknown): unknown {
	call.value = error
	attachRecord(error, call)
	return error
}

/** The error, made now. */
export const createRejection = (call: Call): unknown => finishRejection(call, (call.value as () => unknown)())
