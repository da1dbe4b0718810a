/**
 * Rejections whose error is created further out than where they are decided: most of the cost of an error is
 * the depth of its stack, and an open circuit rejects thousands of calls.
 */
import { attachRecord } from '../explain/record.ts'
import type { Call } from './call.ts'
import type { Step } from './layer.ts'

/** The outermost layer rejects the call; the runner creates the error. */
export function rejectLazily(call: Call, create: () => unknown): Step {
	call.stop = 'rejected'
	call.value = create
	call.phase = 'over'
	call.pipeline.report?.(call)
	call.pipeline.consecutiveSuccesses = 0
	return 'rejected'
}

/** Records the error of a lazy rejection, and returns it. */
export function finishRejection(call: Call, error: unknown): unknown {
	call.value = error
	attachRecord(error, call)
	call.pipeline.observer?.onEnd(call)
	return error
}

/** Creates the error of a lazy rejection. */
export const createRejection = (call: Call): unknown => finishRejection(call, (call.value as () => unknown)())
