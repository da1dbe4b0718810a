import type { CallOptions } from '../core/engine/call-options.ts'
import type { Policy } from '../core/engine/policy.ts'
import { checkAmount, checkNames, checkRange } from '../core/options/schema.ts'
import type { Runtime } from '../core/runtime/runtime.ts'
import { systemRuntime } from '../core/runtime/system.ts'
import { type CallbackOperation, type DoneCallback, run } from './callback-runner.ts'
import { seededRandom } from './seeded-random.ts'
import { VirtualClock } from './virtual-clock.ts'

/** Options of `virtualRuntime`. */
export interface VirtualRuntimeOptions {
	/** The seed of the random numbers: the same seed gives the same run. Default 1. */
	readonly seed?: number | string | undefined
	/** The wall time at the start, milliseconds since 1970. Default: 2026-01-01 in UTC. */
	readonly startAt?: number | undefined
}

/**
 * A runtime for tests whose clock moves only when the test calls `advance`, `runUntilIdle` or `runTimers`.
 * `virtualRuntime()` creates it; pass it as `runtime` to policies.
 */
export interface VirtualRuntime extends Runtime {
	/** Advances the clock by `ms`. Timers fire in order, and all promise jobs run before the next timer. */
	advance(ms: number): Promise<void>
	/** Advances the clock until no timer and no promise job is left. Returns the virtual time that passed. */
	runUntilIdle(): Promise<number>
	/** Fires every timer up to `ms` from now, synchronously: for code without promises. Returns their number. */
	runTimers(ms?: number): number
	/** Runs a callback operation under a policy, without promises. The policy must have been created with this runtime. */
	run<T, Substitute = never>(
		policy: Policy<Substitute>,
		operation: CallbackOperation<T>,
		done: DoneCallback<T | Substitute>,
		options?: CallOptions,
	): void
	/** Moves the wall clock, as an operator or a time server would. The monotonic clock of the policies does not move. */
	jumpWallClock(ms: number): void
	/** The number of timers that are set. */
	readonly pendingTimers: number
}

/**
 * Creates a virtual clock with seeded random numbers, for tests and simulations: no real waiting, the same
 * run every time.
 *
 * @example
 * const clock = virtualRuntime({ seed: 7 })
 * const result = retryWithBackoff(flaky, { runtime: clock })
 * await clock.runUntilIdle()
 * await result
 */
export function virtualRuntime(options: VirtualRuntimeOptions = {}): VirtualRuntime {
	checkNames(options, { seed: 'any', startAt: 'any' }, 'virtualRuntime')
	const { seed = 1, startAt = Date.UTC(2026, 0, 1) } = options
	checkRange('startAt', startAt)
	return new Virtual(seed, startAt)
}

/**
 * Resolves when every promise job that can run has run. Jobs create jobs, so no number of `await`s is enough;
 * the next macrotask comes after all of them. A message channel is a macrotask on every runtime, fake timers
 * do not replace it, and unlike `setTimeout` browsers do not delay it by 4 ms.
 */
function runPromiseJobs(): Promise<void> {
	return new Promise((resolve) => {
		// Cloudflare Workers with a compatibility date before 2025-08-15.
		if (typeof MessageChannel === 'undefined') {
			systemRuntime.setTimer(0, resolve)
			return
		}
		const { port1, port2 } = new MessageChannel()
		port1.onmessage = () => {
			port1.close()
			resolve()
		}
		port2.postMessage(undefined)
	})
}

class Virtual extends VirtualClock implements VirtualRuntime {
	readonly random: () => number

	constructor(seed: number | string, startAt: number) {
		super(startAt)
		this.random = seededRandom(seed)
	}

	run<T, Substitute = never>(
		policy: Policy<Substitute>,
		operation: CallbackOperation<T>,
		done: DoneCallback<T | Substitute>,
		options?: CallOptions,
	): void {
		run(policy, operation, done, options)
	}

	async advance(ms: number): Promise<void> {
		checkAmount('ms', ms)
		const until = this.now() + ms
		await runPromiseJobs()
		while (this.step(until)) await runPromiseJobs()
		this.skipTo(until)
	}

	async runUntilIdle(): Promise<number> {
		const from = this.now()
		await runPromiseJobs()
		while (this.step(Infinity)) await runPromiseJobs()
		return this.now() - from
	}

	runTimers(ms = Infinity): number {
		checkAmount('ms', ms, Infinity)
		const until = this.now() + ms
		let fired = 0
		while (this.step(until)) fired++
		if (until < Infinity) this.skipTo(until)
		return fired
	}
}
