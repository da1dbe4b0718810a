import { Call } from '../engine/call.ts'
import type { CallContext, CallOptions } from '../engine/call-options.ts'
import { REJECTED } from '../engine/layer.ts'
import { LeafPolicy } from '../engine/policy.ts'
import { type Changes, NO_OPTIONS } from '../engine/policy-options.ts'
import { finishRejection } from '../engine/rejection.ts'
import { runFrom } from '../engine/runner.ts'
import { CIRCUIT_OPEN, CircuitOpenError, circuitOpenMessage } from '../errors/errors.ts'
import type { CircuitState } from '../events/events.ts'
import { mergeOptions } from '../options/schema.ts'
import { CircuitBreakerLayer, DEFAULT_NAME } from './layer.ts'
import { type CircuitBreakerOptions, readCircuitBreakerOptions } from './options.ts'
import type { CircuitSnapshot } from './snapshot.ts'
import type { CircuitStats } from './stats.ts'

/** What is answered when the circuit does not let a call in. */
type OpenFallback<T> = (error: CircuitOpenError) => T

/**
 * Stops calling what fails: after too many failures the circuit opens and calls are refused at once with a CircuitOpenError, until a
 * few probes find that it works again.
 *
 * @example
 * const policy = new CircuitBreaker({ failureThreshold: 5, resetTimeoutMs: 30_000 })
 * const user = await policy.execute(() => loadUser(id), () => cachedUser(id))
 */
export class CircuitBreaker extends LeafPolicy {
	readonly #layer: CircuitBreakerLayer
	#options: CircuitBreakerOptions

	constructor(options: CircuitBreakerOptions = NO_OPTIONS) {
		const layer = new CircuitBreakerLayer(readCircuitBreakerOptions(options))
		super(DEFAULT_NAME, options, layer)
		this.#layer = layer
		this.#options = options
		if (options.onEvent) this.subscribe(options.onEvent)
	}

	/** The same as of every policy; a function in second place answers when the circuit does not let the call in. */
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
		const call = new Call(this.compiled(), isFallback ? third : (third ?? second), fn)
		let answer: Promise<unknown>
		const step = call.begin()
		if (step === REJECTED) {
			const { runtime } = call.pipeline
			const retryAfterMs = this.#layer.retryAfterMs(call.now(runtime))
			// What a refusal costs is the depth of its stack: so it is made here and not further in, and without its constructors,
			// which would be walked through as well. It is the same error all the same.
			const whenMs = Math.ceil(retryAfterMs)
			const error = new Error(circuitOpenMessage(this.name, whenMs))
			Object.setPrototypeOf(error, CircuitOpenError.prototype)
			Object.assign(error, {
				name: 'CircuitOpenError',
				code: CIRCUIT_OPEN,
				policy: this.name,
				retryAfterMs: whenMs,
			})
			answer = Promise.reject(finishRejection(call, error))
		} else answer = runFrom(call, step)
		if (isFallback)
			answer = answer.catch((error: unknown) => {
				if (call.stop === 'rejected' && error instanceof CircuitOpenError) return second(error)
				throw error
			})
		return answer as Promise<Awaited<T> | Awaited<F>>
	}

	/** Half-open begins with the first call at or after the reset time; until then it is open. */
	get currentState(): CircuitState {
		return this.stats.state
	}

	/** The counts of its window, or of the probes while half-open. */
	get stats(): CircuitStats {
		const { runtime } = this.env
		return this.#layer.stats(runtime.now(), runtime)
	}

	/** Closes the circuit, as though nothing had happened. One that is isolated stays open. */
	reset(): void {
		this.#layer.reset()
	}

	/**
	 * Holds the circuit open until what it returns is called: for an operator who takes a dependency away on purpose. Held by
	 * several, it opens again when all have let go.
	 *
	 * @example
	 * const release = payments.isolate()
	 * await maintenance()
	 * release()
	 */
	isolate(): () => void {
		return this.#layer.isolate()
	}

	/** All that it knows, as plain data, for a process that is about to end. */
	snapshot(): CircuitSnapshot {
		const { runtime } = this.env
		return this.#layer.snapshot(runtime.now(), runtime.wallNow(), runtime)
	}

	/** Takes over what another breaker knew, aged by the wall clock. Refuses what is no snapshot. */
	restore(snapshot: CircuitSnapshot): void {
		const { runtime } = this.env
		this.#layer.restore(snapshot, runtime.now(), runtime.wallNow())
	}

	/** Other settings from now on. The state, the windows and the streak stay; an open time that is running does, too. */
	update(options: Changes<CircuitBreakerOptions>): void {
		const { runtime } = this.env
		const next = mergeOptions(this.#options, options)
		const settings = readCircuitBreakerOptions(next)
		this.#options = next
		this.#layer.update(settings, runtime.now(), runtime)
	}
}

/**
 * A circuit breaker: `new CircuitBreaker(options)`.
 *
 * @example
 * const payments = pipeline(circuitBreaker({ failureThreshold: 5 }), retry(presets.externalApi), timeout(5_000))
 */
export function circuitBreaker(options?: CircuitBreakerOptions): CircuitBreaker {
	return new CircuitBreaker(options)
}
