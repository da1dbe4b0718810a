/** Operations that fail as listed, and calls that run to their end in virtual time. */

import type { CallContext, Settled, YaokiEvent } from 'yaoki'
import type { VirtualRuntime } from 'yaoki/testing'
import type { PolicyListener } from '../../src/core/events/events.ts'

export interface Script {
	(context: CallContext): Promise<string>
	/** When each call began, in virtual time. */
	readonly startedAt: number[]
	readonly attempts: number[]
}

/** Returns an operation that throws these errors in turn (or waits for `{ takes }` first) and then always returns 'ok'. */
export function failing(clock: VirtualRuntime, ...errors: readonly unknown[]): Script {
	const startedAt: number[] = []
	const attempts: number[] = []
	const script = async ({ attempt }: CallContext): Promise<string> => {
		startedAt.push(clock.now())
		attempts.push(attempt)
		const index = startedAt.length - 1
		if (index < errors.length) throw errors[index]
		return 'ok'
	}
	return Object.assign(script, { startedAt, attempts })
}

/** Work that never succeeds. */
export function dead(clock: VirtualRuntime, error: unknown = new Error('down')): Script {
	return failing(clock, ...new Array<unknown>(10_000).fill(error))
}

/** Runs until nothing waits any more and tells how the promise ended. */
export async function settled<T>(clock: VirtualRuntime, promise: Promise<T>): Promise<Settled<T>> {
	const outcome = promise.then(
		(value): Settled<T> => ({ ok: true, value }),
		(error: unknown): Settled<T> => ({ ok: false, error }),
	)
	await clock.runUntilIdle()
	return outcome
}

/** Steady waits that a test can count: 100, 200, 400 ... */
export const steady = { baseDelayMs: 100, jitterStrategy: 'none' } as const

/** Work on the virtual clock that takes `ms` and then fails or answers. */
export function taking(clock: VirtualRuntime, ms: number, error?: unknown): () => Promise<string> {
	return () =>
		new Promise((resolve, reject) => {
			clock.setTimer(ms, () => (error === undefined ? resolve('ok') : reject(error)))
		})
}

/** A listener of what policies emit during a call, without the `call` event at its end. */
export const exceptCalls =
	(listener: (event: YaokiEvent) => unknown): PolicyListener =>
	(event) =>
		void (event.type === 'call' || listener(event))
