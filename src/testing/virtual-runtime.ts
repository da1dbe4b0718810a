import type { CallOptions } from '../core/engine/call-options.ts'
import type { Policy } from '../core/engine/policy.ts'
import { checkNames, checkRange } from '../core/options/rules.ts'
import type { Runtime } from '../core/runtime/runtime.ts'
import { EventHeap } from './event-heap.ts'
import { promiseJobs } from './promise-jobs.ts'
import { type CallbackWork, type Done, run } from './run.ts'
import { seededRandom } from './seeded-random.ts'

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
	run<T>(policy: Policy, work: CallbackWork<T>, done: Done<T>, options?: CallOptions): void
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

class Virtual implements VirtualRuntime {
	readonly random: () => number
	readonly #events = new EventHeap()
	#now = 0
	#wallOffset: number

	constructor(seed: number | string, startAt: number) {
		this.random = seededRandom(seed)
		this.#wallOffset = startAt
	}

	now(): number {
		return this.#now
	}

	wallNow(): number {
		return this.#wallOffset + this.#now
	}

	setTimer(ms: number, fn: () => void): () => void {
		checkRange('setTimer(ms)', ms)
		const event = this.#events.add(this.#now + ms, fn)
		return () => {
			event.fire = undefined
		}
	}

	run<T>(policy: Policy, work: CallbackWork<T>, done: Done<T>, options?: CallOptions): void {
		run(policy, work, done, options)
	}

	jumpWallClock(ms: number): void {
		this.#wallOffset += ms
	}

	get pendingTimers(): number {
		return this.#events.size
	}

	async advance(ms: number): Promise<void> {
		checkRange('advance(ms)', ms)
		const until = this.#now + ms
		await promiseJobs()
		while (this.#fireNext(until)) await promiseJobs()
		this.#now = Math.max(this.#now, until)
	}

	async runUntilIdle(): Promise<number> {
		const from = this.#now
		await promiseJobs()
		while (this.#fireNext(Infinity)) await promiseJobs()
		return this.#now - from
	}

	runTimers(ms = Infinity): number {
		checkRange('runTimers(ms)', ms, 0, Infinity)
		const until = this.#now + ms
		let fired = 0
		while (this.#fireNext(until)) fired++
		if (until < Infinity) this.#now = until
		return fired
	}

	#fireNext(until: number): boolean {
		const event = this.#events.take(until)
		if (event === undefined) return false
		this.#now = event.at
		event.fire?.()
		return true
	}
}
