/**
 * The next turn of the event loop. That is no matter of time, but a timer waits for the next millisecond, and a relay that drains a database of
 * its own process would stand idle for a tenth of its time. So in production it is `setImmediate`, looked up when it is used like everything else
 * that tests may fake; a runtime that was handed in decides by itself what comes next.
 */
import type { CancelTimer, Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'

/** Calls `fn` when others have had their turn. Those that are asked for first come first. */
export function nextTurn(runtime: Runtime, fn: () => void): CancelTimer {
	if (runtime !== systemRuntime) return runtime.setTimer(0, fn)
	const turn = setImmediate(fn)
	return () => clearImmediate(turn)
}
