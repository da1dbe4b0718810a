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

export class EventLoopYield {
	readonly #runtime: Runtime
	#turnStartedAt: number
	#nextTurn: Promise<void> | undefined

	constructor(runtime: Runtime) {
		this.#runtime = runtime
		this.#turnStartedAt = runtime.now()
	}

	/** Waits for the next turn of the event loop if the current one has lasted too long. */
	async yieldIfDue(): Promise<void> {
		const now = () => this.#runtime.now()
		// The scheduled tick has run since the last call, so this is a new turn.
		if (this.#nextTurn === undefined) this.#turnStartedAt = now()
		const nextTurn = this.#schedule()
		if (now() - this.#turnStartedAt < MAX_HOLD_MS) return
		await nextTurn
		this.#turnStartedAt = now()
		// Scheduled before anything else in this turn, so that this loop resumes before ticks scheduled later.
		void this.#schedule()
	}

	#schedule(): Promise<void> {
		this.#nextTurn ??= new Promise((resolve) => {
			nextTick(this.#runtime, () => {
				this.#nextTurn = undefined
				resolve()
			})
		})
		return this.#nextTurn
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
