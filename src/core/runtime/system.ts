/**
 * The runtime of production. Each global is looked up when it is used and never kept: vitest, jest and node:test put
 * their fakes in place after this module was loaded, and a kept reference would be deaf to them.
 */
import type { CancelTimer, Runtime } from './runtime.ts'

/** A JavaScript timer holds its delay in 31 bits; anything longer would fire at once, so it is chained. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Node and Bun give a timer `ref` and `unref`, Deno has functions for it, and a browser's page does not wait for timers. */
interface TimerHandle {
	ref(): void
	unref(): void
}
interface DenoGlobals {
	readonly Deno?: { refTimer(timer: unknown): void; unrefTimer(timer: unknown): void }
}

function keepAlive(timer: unknown, isNeeded: boolean): void {
	if (typeof timer === 'object') {
		const handle = timer as Partial<TimerHandle>
		if (isNeeded) handle.ref?.()
		else handle.unref?.()
	} else (globalThis as DenoGlobals).Deno?.[isNeeded ? 'refTimer' : 'unrefTimer'](timer)
}

export const systemRuntime: Runtime = {
	now: () => performance.now(),
	wallNow: () => Date.now(),
	random: () => Math.random(),
	// Pages without HTTPS have no randomUUID.
	createId: () => crypto.randomUUID?.() ?? crypto.getRandomValues(new Uint32Array(4)).join('-'),
	timerSource: () => globalThis.setTimeout,
	setTimer(ms, fn, kind) {
		let timer: unknown
		const arm = (left: number): void => {
			// Rounded up, for a timer drops the fraction and would end before its time.
			const rest = left - LONGEST_TIMER_MS
			timer = rest > 0 ? setTimeout(() => arm(rest), LONGEST_TIMER_MS) : setTimeout(fn, Math.ceil(left))
			if (kind === 'housekeeping') keepAlive(timer, false)
		}
		arm(ms)
		const cancel: CancelTimer = () => clearTimeout(timer as number)
		// A plain object is a fake timer, and who fakes timers counts them: those are cancelled instead.
		if (kind === 'limit' && Object(timer).constructor !== Object)
			cancel.keepAlive = (isNeeded) => keepAlive(timer, isNeeded)
		return cancel
	},
}
