/** A call that takes more turns waits for the event loop. */
const TOO_MANY = 1_000

/**
 * Returns the number of microtask turns until the caller continues. A chain of microtasks starts immediately before the call;
 * each counts one and queues the next. The queue is first in, first out, so the chain counts once per turn, before the
 * microtasks of the call. Awaiting an async function that awaits nothing takes 1 turn.
 */
export async function microtaskTurns(call: () => Promise<unknown>): Promise<number> {
	let turns = 0
	let isOver = false
	const count = () => {
		// An endless chain would block timers, and with them the call.
		if (isOver || turns === TOO_MANY) return
		turns++
		queueMicrotask(count)
	}
	queueMicrotask(count)
	await call()
	isOver = true
	return turns < TOO_MANY ? turns : Number.POSITIVE_INFINITY
}
