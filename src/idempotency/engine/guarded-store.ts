/**
 * The store behind a timeout and a circuit breaker: a database that hangs must not hang every request. A claim that the store confirms after
 * the timeout is released, because no request runs for it, and its key would be locked until the lease ends.
 *
 * The circuit rejects new requests only. The writes of requests that run are few and cannot be repeated later: a response that is not stored, because
 * the circuit is still open when the store has recovered, would be a second effect.
 */
import { type CircuitBreaker, circuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import { pipeline } from '../../core/engine/pipeline.ts'
import type { Policy } from '../../core/engine/policy.ts'
import { timeout } from '../../core/timeout/timeout.ts'
import { isSetupError } from '../store/setup-errors.ts'
import type { ClaimRef, ClaimRequest, ClaimResult, IdempotencyStore } from '../store/store.ts'
import type { IdempotencySettings } from './options.ts'

export class GuardedStore {
	readonly breaker: CircuitBreaker = circuitBreaker({ isFailure: (error) => !isSetupError(error) })
	readonly policy: Policy
	readonly #store: IdempotencyStore
	readonly #writePolicy: Policy

	constructor({ store, name, runtime, storeTimeoutMs }: IdempotencySettings<unknown, never>) {
		this.#store = store
		const limit = timeout(storeTimeoutMs)
		this.policy = pipeline({ name, runtime }, this.breaker, limit)
		this.#writePolicy = pipeline({ name, runtime }, limit)
	}

	claim(request: ClaimRequest): Promise<ClaimResult> {
		// Not async functions: a store in memory returns immediately, and then no timer is started.
		return this.policy.execute((context) => {
			const claiming = this.#store.claim(request)
			// Not `instanceof Promise`: a store may have another Promise.
			if ('kind' in claiming) return claiming
			return claiming.then((result) => {
				if (result.kind === 'claimed' && context.signal.aborted) void this.#releaseLate(request)
				return result
			})
		})
	}

	async #releaseLate(claim: ClaimRef): Promise<void> {
		try {
			await this.#store.release(claim)
		} catch {
			// The lease ends by itself.
		}
	}

	/** Runs a write of a claim. */
	write(operation: (store: IdempotencyStore) => boolean | Promise<boolean>): Promise<boolean> {
		return this.#writePolicy.execute(() => operation(this.#store))
	}
}
