/**
 * Rejections whose error is created further out than where they are decided: most of the cost of an error is
 * the depth of its stack, and an open circuit rejects thousands of calls.
 */
import type { Call } from './call.ts'

/** Records the error of a lazy rejection, and returns it. */
export function finishRejection(call: Call, error: unknown): unknown {
	call.value = error
	call.end()
	return error
}

/** Creates the error of a lazy rejection. */
export const createRejection = (call: Call): unknown => finishRejection(call, (call.value as () => unknown)())
