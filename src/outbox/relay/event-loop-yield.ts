/**
 * Gives the event loop back while a backlog is drained. An in-process database (SQLite) responds within the
 * same turn of the event loop, so a loop of claims and fast handlers would run until the queue is empty: no
 * timer, no heartbeat and no request of the application would run meanwhile. With a database behind a socket
 * the event loop turns anyway; that is detected, and nothing is awaited.
 */
import { scheduler } from 'node:timers/promises'
import type { CancelTimer, Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'

/** Maximum time to hold the event loop before yielding. */
const MAX_HOLD_MS = 10

/** Returns a function that waits for the next turn of the event loop if the current one has lasted too long. */
export function eventLoopYield(runtime: Runtime): () => Promise<void> {
	let turnStartedAt = runtime.now()
	let nextTurn: Promise<void> | undefined
	const schedule = (): Promise<void> => {
		nextTurn ??= new Promise((resolve) => {
			nextTick(runtime, () => {
				nextTurn = undefined
				resolve()
			})
		})
		return nextTurn
	}
	return async () => {
		// The scheduled tick has run since the last call, so this is a new turn.
		if (nextTurn === undefined) turnStartedAt = runtime.now()
		const turn = schedule()
		if (runtime.now() - turnStartedAt < MAX_HOLD_MS) return
		await turn
		turnStartedAt = runtime.now()
		// Scheduled before anything else in this turn, so that this loop resumes before ticks scheduled later.
		void schedule()
	}
}

/**
 * Calls `fn` in the next turn of the event loop, in the order of calls. A timer would wait for the next
 * millisecond, which left a relay that drains an in-process database idle for a tenth of the time; so the
 * system runtime uses the event loop itself. An injected runtime uses its own timers.
 */
export function nextTick(runtime: Runtime, fn: () => void): CancelTimer {
	if (runtime !== systemRuntime) return runtime.setTimer(0, fn)
	let isCancelled = false
	void scheduler.yield().then(() => {
		if (!isCancelled) fn()
	})
	return () => {
		isCancelled = true
	}
}
