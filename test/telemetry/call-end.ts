import type { CallEnd } from '../../src/core/observe/observer.ts'

/** Returns the end of a successful first attempt. */
export const createCallEnd = (given: Partial<CallEnd> = {}): CallEnd => ({
	type: 'call',
	emitter: 'payments',
	key: undefined,
	call: undefined,
	method: undefined,
	outcome: 'success',
	attempts: 1,
	retries: 0,
	durationMs: 20,
	queuedMs: 0,
	backoffMs: 0,
	error: undefined,
	info: undefined,
	...given,
})
