/**
 * The next turn of the event loop. That is no matter of time: a timer would wait for the next millisecond, and a relay that drains a database of
 * its own process would stand idle for a tenth of its time. So in production the event loop is asked itself; a runtime that was handed in
 * decides what comes next.
 */
import { scheduler } from 'node:timers/promises'
import type { CancelTimer, Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'

/** Calls `fn` when others have had their turn. Those that are asked for first come first. */
export function nextTick(runtime: Runtime, fn: () => void): CancelTimer {
	if (runtime !== systemRuntime) return runtime.setTimer(0, fn)
	let isWanted = true
	void scheduler.yield().then(() => {
		if (isWanted) fn()
	})
	return () => {
		isWanted = false
	}
}
