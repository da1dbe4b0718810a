import type { CallOptions } from '../core/engine/call-options.ts'
import type { Policy } from '../core/engine/policy.ts'
import { checkNames, checkRange } from '../core/options/schema.ts'
import type { Runtime } from '../core/runtime/runtime.ts'
import { type CallbackWork, type DoneCallback, run } from './callback-runner.ts'
import { promiseJobs } from './promise-jobs.ts'
import { seededRandom } from './seeded-random.ts'
import { VirtualClock } from './virtual-clock.ts'

/** Where a virtual runtime's chance and its wall clock begin. */
export interface VirtualRuntimeOptions {
	/** The same seed gives the same run. Default 1. */
	readonly seed?: number | string | undefined
	/** The wall time at the start, milliseconds since 1970. Default: 2026-01-01 in UTC. */
	readonly startAt?: number | undefined
}

/** A runtime whose time passes only when it is told to. */
export interface VirtualRuntime extends Runtime {
	/** Lets `ms` pass. Timers fire in order, and promise jobs run to their end before the next one does. */
	advance(ms: number): Promise<void>
	/** Lets time pass until no timer is left, promise jobs included. Answers how long that took, in virtual time. */
	runUntilIdle(): Promise<number>
	/** The same for work without promises: fires every timer up to `ms` from now, at once, and answers how many. */
	runTimers(ms?: number): number
	/** Runs work under a policy without promises; the policy waits on its own runtime, so make it with this one. */
	run<T>(policy: Policy, work: CallbackWork<T>, done: DoneCallback<T>, options?: CallOptions): void
	/** Moves the wall clock, as an operator or a time server would. The clock that policies go by does not notice. */
	jumpWallClock(ms: number): void
	/** How many timers are waiting. */
	readonly pendingTimers: number
}

/**
 * Time and chance for tests and simulations: nothing waits, and every run is the same.
 *
 * @example
 * const clock = virtualRuntime({ seed: 7 })
 * const answer = retryWithBackoff(flaky, { runtime: clock })
 * await clock.runUntilIdle()
 * await answer
 */
export function virtualRuntime(options: VirtualRuntimeOptions = {}): VirtualRuntime {
	checkNames(options, { seed: 'any', startAt: 'any' })
	const { seed = 1, startAt = Date.UTC(2026, 0, 1) } = options
	checkRange('startAt', startAt)
	return new Virtual(seed, startAt)
}

class Virtual extends VirtualClock implements VirtualRuntime {
	readonly random: () => number

	constructor(seed: number | string, startAt: number) {
		super(startAt)
		this.random = seededRandom(seed)
	}

	run<T>(policy: Policy, work: CallbackWork<T>, done: DoneCallback<T>, options?: CallOptions): void {
		run(policy, work, done, options)
	}

	get pendingTimers(): number {
		return this.pending
	}

	async advance(ms: number): Promise<void> {
		checkRange('advance(ms)', ms)
		const until = this.now() + ms
		await promiseJobs()
		while (this.step(until)) await promiseJobs()
		this.skipTo(until)
	}

	async runUntilIdle(): Promise<number> {
		const from = this.now()
		await promiseJobs()
		while (this.step(Infinity)) await promiseJobs()
		return this.now() - from
	}

	runTimers(ms = Infinity): number {
		checkRange('runTimers(ms)', ms, 0, Infinity)
		const until = this.now() + ms
		let fired = 0
		while (this.step(until)) fired++
		if (until < Infinity) this.skipTo(until)
		return fired
	}
}
