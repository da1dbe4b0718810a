/**
 * What keeps a timer's place in the world: a `wait` is awaited by somebody and keeps the process alive; so does a `limit`, which
 * ends what takes too long; `housekeeping` lets the process end.
 */
export type TimerKind = 'wait' | 'limit' | 'housekeeping'

/** Cancels a timer. `keepAlive`, where there is one, says whether it is to keep the process alive from now on. */
export interface CancelTimer {
	(): void
	keepAlive?(isNeeded: boolean): void
}

/**
 * Time and chance, handed in. Nothing in the package reads a clock or draws a random number except through a
 * runtime, which is why every policy can run in virtual time (`virtualRuntime` of `yaoki/testing`).
 *
 * @example
 * const clock = virtualRuntime({ seed: 7 })
 * const policy = retry({ maxRetries: 3, runtime: clock })
 */
export interface Runtime {
	/** Milliseconds on a clock that never jumps. Only differences mean anything. */
	now(): number
	/** Milliseconds since 1970, for people and for rows in a database. It may jump. */
	wallNow(): number
	/** Calls `fn` once after `ms`, however long that is, and returns what cancels it. `kind` is `'wait'` by default. */
	setTimer(ms: number, fn: () => void, kind?: TimerKind): CancelTimer
	/** A number in [0, 1). */
	random(): number
	/** Returns an id that is unique across processes, for calls in events. Default: a random UUID. */
	createId?(): string
	/** What its timers are made of at present. Timers that are shared are not shared with those of another make. */
	timerSource?(): object
}
