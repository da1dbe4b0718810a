/**
 * gRPC commits a call when the headers of the response arrive. Connect sends the status of a failed stream after the headers, in the body, and
 * its servers do so for gRPC too. So the headers are held until the first message or the end of the stream has arrived, but not for long: a
 * server that sends nothing else has sent them on purpose, and the caller may wait for them before it sends more.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'

const HEADER_WAIT_MS = 100

/** Resolves when the first message or the end has arrived, or the time is over. Rejects if the stream begins with an error. */
export function untilCommitted(first: Promise<unknown>, runtime: Runtime): Promise<void> {
	return new Promise((resolve, reject) => {
		const stopTimer = runtime.setTimer(HEADER_WAIT_MS, resolve, 'limit')
		first.then(() => resolve(), reject).finally(stopTimer)
	})
}
