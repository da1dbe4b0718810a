/** Breakers as policies, in virtual time: one that has opened, and calls that fail or return immediately. */

import type { CallContext, CircuitBreakerOptions, Policy, Settled } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { CircuitBreaker } from '../../../src/core/circuit-breaker/circuit-breaker.ts'

/** Opens with the first failure, for one second. */
export const sensitive = { failureThreshold: 1, resetTimeoutMs: 1_000, successThreshold: 1 } as const

export const never = (): Promise<never> => new Promise(() => {})

/** A call for each letter, one after the other: s(uccess) or f(ailure). */
export async function calls(policy: Policy, letters: string): Promise<void> {
	// Not `settle`, which measures every call.
	for (const letter of letters)
		await policy
			.execute(() => {
				if (letter === 'f') throw new Error('down')
			})
			.catch(() => {})
}

export function setup(options: CircuitBreakerOptions = {}): {
	clock: VirtualRuntime
	breaker: CircuitBreaker
} {
	const clock = virtualRuntime()
	return { clock, breaker: new CircuitBreaker({ runtime: clock, ...options }) }
}

/** A breaker whose first call has just failed. */
export async function opened(
	options: CircuitBreakerOptions = {},
): Promise<{ clock: VirtualRuntime; breaker: CircuitBreaker }> {
	const started = setup({ ...sensitive, ...options })
	await calls(started.breaker, 'f')
	return started
}

/** An operation that settles when the test calls `succeed` or `fail`. */
export class Held {
	readonly contexts: CallContext[] = []
	readonly #ends: { resolve: (value: string) => void; reject: (error: unknown) => void }[] = []

	readonly work = (context: CallContext): Promise<string> => {
		this.contexts.push(context)
		return new Promise((resolve, reject) => this.#ends.push({ resolve, reject }))
	}

	get started(): number {
		return this.contexts.length
	}

	succeed(index = 0): void {
		this.#ends[index]?.resolve('ok')
	}

	fail(index = 0, error: unknown = new Error('down')): void {
		this.#ends[index]?.reject(error)
	}
}

/** The error of a call that failed. */
export function errorOf(settled: Settled<unknown>): unknown {
	if (settled.ok) throw new Error('the call went well')
	return settled.error
}
