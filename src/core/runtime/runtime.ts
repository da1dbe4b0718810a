/**
 * What a timer is for. A caller waits for a `wait`, such as a backoff delay. A `limit` ends an operation that
 * takes too long. Both keep the process alive; `housekeeping` does not.
 */
export type TimerKind = 'wait' | 'limit' | 'housekeeping'

/** Cancels a timer. `keepAlive`, if supported, changes whether the timer keeps the process alive. */
export interface CancelTimer {
	(): void
	keepAlive?(isNeeded: boolean): void
}

/**
 * Time and randomness, for the option `runtime` of policies, clients and stores. The package reads clocks and
 * random numbers only through a runtime, so every policy can run in virtual time (`virtualRuntime` of
 * `yaoki/testing`).
 *
 * @example
 * const clock = virtualRuntime({ seed: 7 })
 * const policy = retry({ maxRetries: 3, runtime: clock })
 */
export interface Runtime {
	/** Returns milliseconds on a monotonic clock. Only differences are meaningful. */
	now(): number
	/** Returns milliseconds since 1970, for people and for database rows. It may jump. */
	wallNow(): number
	/**
	 * Calls `fn` once after `ms`, however long, and returns a function that cancels it. Default of `kind`:
	 * `'wait'`.
	 */
	setTimer(ms: number, fn: () => void, kind?: TimerKind): CancelTimer
	/** Returns a number in [0, 1). */
	random(): number
	/** Returns an id that is unique across processes, for calls in events. Default: a random UUID. */
	createId?(): string
	/**
	 * Identifies the current timer implementation. Calls share a timer only while this returns the same object;
	 * a new object for each call means that no timer is shared.
	 */
	timerSource?(): object
}
