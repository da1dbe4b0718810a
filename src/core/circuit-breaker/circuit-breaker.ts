import type { CallContext, CallOptions } from '../engine/call-options.ts'
import { createCall, LeafPolicy } from '../engine/policy.ts'
import { type Changes, NO_OPTIONS } from '../engine/policy-options.ts'
import { finishRejection } from '../engine/rejection.ts'
import { rejectSoon, run } from '../engine/runner.ts'
import { CIRCUIT_OPEN, CircuitOpenError, circuitOpenMessage } from '../errors/errors.ts'
import type { CircuitState } from '../events/events.ts'
import { mergeOptions } from '../options/schema.ts'
import type { CircuitBreakerStats } from './circuit.ts'
import { isolate } from './isolation.ts'
import { CircuitBreakerLayer, DEFAULT_NAME } from './layer.ts'
import { type CircuitBreakerOptions, readCircuitBreakerOptions } from './options.ts'
import { type CircuitSnapshot, restoreSnapshot, takeSnapshot } from './snapshot.ts'

/** Provides the result while the circuit rejects calls. */
type OpenFallback<T> = (error: CircuitOpenError, context: CallContext) => T

/**
 * A policy that stops calling a dependency that fails. `circuitBreaker()` creates it. After too many failures
 * the circuit opens, and calls are rejected immediately with a `CircuitOpenError` until a few probes succeed.
 *
 * @example
 * const breaker = circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 30_000 })
 * const user = await breaker.execute(() => loadUser(id), () => cachedUser(id))
 */
export class CircuitBreaker extends LeafPolicy {
	/** @internal */
	declare protected readonly layer: CircuitBreakerLayer

	constructor(options: CircuitBreakerOptions = NO_OPTIONS) {
		super(DEFAULT_NAME, options, new CircuitBreakerLayer(readCircuitBreakerOptions(options)))
		if (options.onEvent) this.listen(options.onEvent)
	}

	/**
	 * Like `execute` of every policy. A function as the second argument is a fallback: it provides the result
	 * if the circuit rejects the call. Its context has the call's key, signal and deadline.
	 */
	override execute<T>(fn: (context: CallContext) => T, options?: CallOptions): Promise<Awaited<T>>
	override execute<T, F = T>(
		fn: (context: CallContext) => T,
		fallback: OpenFallback<F> | undefined,
		options?: CallOptions,
	): Promise<Awaited<T> | Awaited<F>>
	override execute<T, F>(
		fn: (context: CallContext) => T,
		second?: OpenFallback<F> | CallOptions,
		third?: CallOptions,
	): Promise<Awaited<T> | Awaited<F>> {
		const isFallback = typeof second === 'function'
		const call = createCall(this.compiled(), isFallback ? third : (third ?? second), fn)
		let result: Promise<unknown>
		const runAround = call.pipeline.observer?.run
		const step = runAround ? undefined : call.begin()
		if (step === 'rejected') {
			const { runtime } = call.pipeline
			const retryAfterMs = this.layer.circuit.retryAfterMs(call.now(runtime))
			// Most of the cost of an error is the depth of its stack. So this one is created here, not further in,
			// and without the constructors, which would add frames. Users cannot tell it from a
			// `new CircuitOpenError`.
			const whenMs = Math.ceil(retryAfterMs)
			const error = new Error(circuitOpenMessage(this.name, whenMs), this.layer.circuit.openState?.cause)
			Object.setPrototypeOf(error, CircuitOpenError.prototype)
			Object.assign(error, {
				name: 'CircuitOpenError',
				code: CIRCUIT_OPEN,
				policy: this.name,
				pipeline: undefined,
				retryAfterMs: whenMs,
			})
			result = rejectSoon(finishRejection(call, error))
		} else result = runAround ? runAround(call, run) : run(call, step)
		if (isFallback)
			result = result.catch((error: unknown) => {
				if (call.stop === 'rejected' && error instanceof CircuitOpenError)
					return second(error, call.context())
				throw error
			})
		return result as Promise<Awaited<T> | Awaited<F>>
	}

	/** The state. An open circuit becomes half-open with the first call at or after the reset time. */
	get currentState(): CircuitState {
		return this.stats.state
	}

	/** The counts of the window or, while half-open, of the probes. */
	get stats(): CircuitBreakerStats {
		const { runtime } = this.env
		return this.layer.circuit.stats(runtime.now(), runtime)
	}

	/** Closes the circuit and clears its counts. An isolated circuit closes when it is released. */
	reset(): void {
		this.layer.circuit.reset()
	}

	/**
	 * Rejects all calls until the returned function is called, for example while an operator has taken a
	 * dependency out of service. The release restores the state that the isolation found: closed with its
	 * counts, open for the rest of its time, or half-open. If several callers isolate the circuit, the last one
	 * to release it restores the state.
	 *
	 * @example
	 * const release = payments.isolate()
	 * await maintenance()
	 * release()
	 */
	isolate(): () => void {
		const { runtime } = this.env
		return isolate(this.layer.circuit, runtime.now(), runtime)
	}

	/** Returns the breaker's state as plain data, for a process that is about to end. */
	snapshot(): CircuitSnapshot {
		const { runtime } = this.env
		return takeSnapshot(this.layer.circuit, runtime.now(), runtime.wallNow(), runtime)
	}

	/** Takes over the state of another breaker, aged by the wall clock. Throws if the snapshot is invalid. */
	restore(snapshot: CircuitSnapshot): void {
		const { runtime } = this.env
		restoreSnapshot(this.layer.circuit, snapshot, runtime.now(), runtime.wallNow())
	}

	/** Changes settings. State, windows, failure count and a current open time stay. */
	update(options: Changes<CircuitBreakerOptions>): void {
		const { runtime } = this.env
		const next = mergeOptions(this.options, options)
		const settings = readCircuitBreakerOptions(next)
		this.options = next
		this.layer.update(settings, runtime.now(), runtime)
	}
}

/**
 * Creates a circuit breaker: a policy that stops calling a dependency that fails.
 *
 * @example
 * const payments = pipeline(circuitBreaker({ failureThreshold: 5 }), retry(presets.externalApi), timeout(5_000))
 */
export function circuitBreaker(options?: CircuitBreakerOptions): CircuitBreaker {
	return new CircuitBreaker(options)
}
