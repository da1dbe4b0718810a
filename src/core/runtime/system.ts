/**
 * The runtime of production. Each global is looked up when it is used and never kept: vitest, jest and node:test put
 * their fakes in place after this module was loaded, and a kept reference would be deaf to them.
 */
import type { Runtime } from './runtime.ts'

/** A JavaScript timer holds its delay in 31 bits; anything longer would fire at once, so it is chained. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Node and Bun give a timer an `unref`, Deno has a function for it, and a browser's page does not wait for timers. */
interface TimerHandle {
	unref?(): void
}
interface DenoGlobals {
	readonly Deno?: { unrefTimer(timer: unknown): void }
}

export const systemRuntime: Runtime = {
	now: () => performance.now(),
	wallNow: () => Date.now(),
	random: () => Math.random(),
	setTimer(ms, fn, kind) {
		let timer: unknown
		const arm = (left: number): void => {
			// Rounded up, for a timer drops the fraction and would end before its time.
			const rest = left - LONGEST_TIMER_MS
			timer = rest > 0 ? setTimeout(() => arm(rest), LONGEST_TIMER_MS) : setTimeout(fn, Math.ceil(left))
			if (kind === 'housekeeping') {
				if (typeof timer === 'object') (timer as TimerHandle).unref?.()
				else (globalThis as DenoGlobals).Deno?.unrefTimer(timer)
			}
		}
		arm(ms)
		return () => clearTimeout(timer as number)
	},
}
