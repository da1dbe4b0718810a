/** No chain of promises that is worth measuring is so long; a call that is waits for the event loop. */
const TOO_MANY = 1_000

/**
 * How many turns of the microtask queue pass until the caller of a call goes on. A chain of microtasks, each of which
 * counts one and queues the next, starts just before the call: the queue is first in, first out, so the chain counts once
 * in every turn, and before anything of the call's own does. Awaiting an async function that awaits nothing is 1.
 */
export async function microtaskTurns(call: () => Promise<unknown>): Promise<number> {
	let turns = 0
	let isOver = false
	const count = () => {
		// Without an end the chain would keep a timer, and with it the call, from ever having its turn.
		if (isOver || turns === TOO_MANY) return
		turns++
		queueMicrotask(count)
	}
	queueMicrotask(count)
	await call()
	isOver = true
	return turns < TOO_MANY ? turns : Number.POSITIVE_INFINITY
}
