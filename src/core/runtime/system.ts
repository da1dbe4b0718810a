/**
 * The runtime of production. Globals are looked up when they are used: vitest, jest and node:test install
 * fake timers after this module is loaded, and a stored reference would bypass them.
 */
import type { CancelTimer, Runtime, TimerKind } from './runtime.ts'

/** A JavaScript timer has a 31-bit delay and fires immediately above that, so longer timers are chained. */
const MAX_TIMER_MS = 2 ** 31 - 1

interface DenoGlobals {
	readonly Deno?: { refTimer(timer: unknown): void; unrefTimer(timer: unknown): void }
}

/** Timers of Node and Bun have `ref` and `unref`, Deno has functions for that, and browsers need neither. */
function keepAlive(timer: unknown, isNeeded: boolean): void {
	const name = isNeeded ? 'ref' : 'unref'
	if (typeof timer === 'object') (timer as Partial<Record<typeof name, () => void>>)[name]?.()
	else (globalThis as DenoGlobals).Deno?.[`${name}Timer`](timer)
}

/**
 * True on Cloudflare Workers. A timer belongs to the request that set it and never fires after that request
 * has ended, so no timer is shared. `WebSocketPair` exists with every compatibility date,
 * `navigator.userAgent` does not.
 */
const hasRequestTimers = 'WebSocketPair' in globalThis

/**
 * The clock, and the `setTimeout` beside which it was looked up. In Node `performance` is a getter, which
 * takes a quarter of a clock read, so it is looked up again only if `setTimeout` is another one: the fake
 * timers of vitest and jest replace both, those of node:test replace only `setTimeout`.
 */
let clock: Pick<Performance, 'now'>
let clockTimers: unknown

export const systemRuntime: Runtime = {
	now() {
		if (clockTimers !== setTimeout) {
			clockTimers = setTimeout
			clock = performance
		}
		return clock.now()
	},
	wallNow: () => Date.now(),
	random: () => Math.random(),
	timerSource: () => (hasRequestTimers ? {} : setTimeout),
	setTimer(ms, fn, kind) {
		if (ms > MAX_TIMER_MS) return chainTimers(ms, fn, kind)
		// Rounded up, because timers truncate and would fire early.
		const timer: unknown = setTimeout(fn, Math.ceil(ms))
		if (kind === 'housekeeping') keepAlive(timer, false)
		const cancel: CancelTimer = () => clearTimeout(timer as number)
		// A plain object is a fake timer. Tests count those, so they are cancelled instead of kept with unref.
		if (kind === 'limit' && !hasRequestTimers && Object(timer).constructor !== Object)
			cancel.keepAlive = (isNeeded) => keepAlive(timer, isNeeded)
		return cancel
	},
}

function chainTimers(ms: number, ...rest: [fn: () => void, kind: TimerKind | undefined]): CancelTimer {
	const next = () => {
		current = systemRuntime.setTimer(ms - MAX_TIMER_MS, ...rest)
	}
	let current = systemRuntime.setTimer(MAX_TIMER_MS, next, rest[1])
	const cancel: CancelTimer = () => current()
	if (current.keepAlive) cancel.keepAlive = (isNeeded) => current.keepAlive?.(isNeeded)
	return cancel
}

/**
 * Returns a registry that notices when objects are no longer used, or undefined if the runtime has none:
 * Cloudflare Workers with a compatibility date before 2025-05-05. Call it on first use, because a module must
 * load there too.
 */
export const createRegistry = <T>(onCollected: (held: T) => void): FinalizationRegistry<T> | undefined =>
	typeof FinalizationRegistry === 'function' ? new FinalizationRegistry(onCollected) : undefined

/** Returns a random UUID. Ignores the runtime's seed: two test runs must not share idempotency keys. */
export const randomUuid = (): string =>
	// Missing in pages that were not loaded over TLS.
	crypto.randomUUID?.() ?? `${digits(8)}-${digits(4)}-4${digits(3)}-a${digits(3)}-${digits(12)}`

const digits = (count: number): string =>
	Array.from(crypto.getRandomValues(new Uint8Array(count)), (byte) => (byte % 16).toString(16)).join('')
