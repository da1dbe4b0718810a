/**
 * The store behind a timeout and a circuit breaker: a database that hangs must not hang every request. A
 * claim that the store confirms after the timeout is released, because no request runs for it, and its key
 * would be locked until the lease ends.
 *
 * Waiting for something of this process, such as a free connection of the user's pool, has a limit of the
 * same length, but does not count for the circuit: a burst of requests on a small pool would open it while
 * the database is healthy. Rejected: one limit for both. A statement that got its connection a millisecond
 * before the limit would count as one that hangs.
 *
 * The circuit rejects new requests only. The writes of requests that run are few and cannot be repeated
 * later: a response that is not stored, because the circuit is still open when the store has recovered, would
 * be a second effect. They are repeated while the store is away, so the first one that succeeds shows that
 * the store is back: the circuit then lets the next request through as a probe, without waiting for the rest
 * of its open time.
 */
import { type CircuitBreaker, circuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import { endOpenTime } from '../../core/circuit-breaker/embedded-breaker.ts'
import { recoveringBreaker } from '../../core/circuit-breaker/options.ts'
import { pipeline } from '../../core/engine/pipeline.ts'
import type { Policy } from '../../core/engine/policy.ts'
import { BulkheadRejectedError, TimeoutError } from '../../core/errors/errors.ts'
import { withOptionPath } from '../../core/options/option-path.ts'
import { invalidOption, isObject } from '../../core/options/schema.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { timeout } from '../../core/timeout/timeout.ts'
import type {
	IdempotencyClaimRef,
	IdempotencyClaimRequest,
	IdempotencyClaimResult,
	IdempotencyStore,
	StoreCall,
} from '../store/store.ts'
import type { IdempotencySettings } from './options.ts'
import { isSetupError } from './setup-errors.ts'

/** The name in errors. Without it, a `TimeoutError` from a step would blame the operation of the step. */
const STORE = 'idempotency store (storeTimeoutMs)'

export class GuardedStore {
	readonly breaker: CircuitBreaker | undefined
	readonly policy: Policy
	readonly #settings: IdempotencySettings<unknown, never>
	readonly #writePolicy: Policy

	constructor(settings: IdempotencySettings<unknown, never>) {
		const { name, runtime, storeTimeoutMs } = settings
		this.#settings = settings
		this.breaker = createBreaker(settings.storeCircuitBreaker)
		this.policy = this.breaker ? pipeline({ name, runtime }, this.breaker) : pipeline({ name, runtime })
		this.#writePolicy = pipeline({ name, runtime }, timeout(storeTimeoutMs, { name: STORE }))
	}

	claim(request: IdempotencyClaimRequest): Promise<IdempotencyClaimResult> {
		// Not an async function: a store in memory returns immediately, and then no timer is started.
		return this.policy.execute(() => {
			const { store, runtime, storeTimeoutMs } = this.#settings
			const call = new LimitedCall(runtime, storeTimeoutMs)
			const claiming = store.claim(request, call)
			// `instanceof Promise` would be wrong for a store with a Promise of its own.
			return 'kind' in claiming ? claiming : this.#limited(claiming, request, call)
		})
	}

	/** The policy `timeout` is not used here, because it does not know what the claim waits for. */
	#limited(
		claiming: Promise<IdempotencyClaimResult>,
		request: IdempotencyClaimRequest,
		call: LimitedCall,
	): Promise<IdempotencyClaimResult> {
		return new Promise((resolve, reject) => {
			const { storeTimeoutMs, name } = this.#settings
			call.start(() => reject(call.isWaiting ? this.#busy() : new TimeoutError(STORE, storeTimeoutMs, name)))
			claiming.then(
				(result) => {
					call.end()
					if (result.kind === 'claimed' && call.isAbandoned) void this.#releaseLate(request)
					resolve(result)
				},
				(error) => {
					call.end()
					reject(call.isWaiting ? this.#busy() : error)
				},
			)
		})
	}

	#busy(): BulkheadRejectedError {
		return new BulkheadRejectedError(
			STORE,
			'queue-timeout',
			'no connection of the pool, or no lock of the database, was free in time. Use a larger pool, or shorter transactions',
			this.#settings.name,
		)
	}

	async #releaseLate(claim: IdempotencyClaimRef): Promise<void> {
		try {
			await this.#settings.store.release(claim)
		} catch {
			// The lease ends by itself.
		}
	}

	/** Runs a write of a claim. */
	async write(operation: (store: IdempotencyStore) => boolean | Promise<boolean>): Promise<boolean> {
		const isHeld = await this.#writePolicy.execute(() => operation(this.#settings.store))
		endOpenTime(this.breaker)
		return isHeld
	}
}

/** A timer that is late by more than this share of the limit means that the process has stalled. */
const MAX_TIMER_DELAY = 0.1

/** A claim that runs. Its limit starts anew whenever the store changes `isWaiting`. */
class LimitedCall implements StoreCall {
	isAbandoned = false
	#isWaiting = false
	readonly #runtime: Runtime
	readonly #limitMs: number
	#onLimit: (() => void) | undefined
	#cancel: (() => void) | undefined

	constructor(runtime: Runtime, limitMs: number) {
		this.#runtime = runtime
		this.#limitMs = limitMs
	}

	get isWaiting(): boolean {
		return this.#isWaiting
	}

	set isWaiting(isWaiting: boolean) {
		this.#isWaiting = isWaiting
		if (this.#onLimit && !this.isAbandoned) this.start(this.#onLimit)
	}

	start(onLimit: () => void, ms: number = this.#limitMs): void {
		this.end()
		this.#onLimit = onLimit
		const dueAt = this.#runtime.now() + ms
		this.#cancel = this.#runtime.setTimer(
			ms,
			() => {
				// After a stall, timers run before the replies are read that have arrived meanwhile.
				const lateMs = this.#runtime.now() - dueAt
				if (lateMs > this.#limitMs * MAX_TIMER_DELAY)
					return this.start(onLimit, Math.min(lateMs, this.#limitMs))
				this.isAbandoned = true
				onLimit()
			},
			'limit',
		)
	}

	end(): void {
		this.#cancel?.()
		this.#onLimit = undefined
	}
}

/** Open for about a second at first: a circuit must not reject requests for longer than the store fails. */
function createBreaker(options: IdempotencySettings['storeCircuitBreaker'] = {}): CircuitBreaker | undefined {
	if (options === false) return undefined
	if (!isObject(options)) invalidOption('storeCircuitBreaker', options, 'false or an object')
	return withOptionPath('storeCircuitBreaker', () =>
		circuitBreaker({ ...recoveringBreaker(options), isFailure: (error) => !isSetupError(error) }),
	)
}
