/**
 * What the circuits of redirects count. There is one for each pair of origins, so that no origin can open the circuit of another by redirecting
 * to a path that fails. Like the breaker of an origin they count a call once, however many attempts it makes.
 */
import { CircuitBreaker } from '../../core/circuit-breaker/circuit-breaker.ts'
import type { CircuitBreakerLayer } from '../../core/circuit-breaker/layer.ts'
import type { CircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import { CircuitOpenError } from '../../core/errors/errors.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'

/** What the circuit of a pair counts for a call. */
export interface RedirectOutcome {
	readonly ticket: number
	readonly isFailure: CircuitBreakerOptions['isFailure']
	/** The failure of the last attempt, or true if the target has responded. Undefined: nothing is known. */
	result: unknown
}

export class RedirectCircuits {
	readonly #outcomes = new Map<CircuitBreakerLayer, RedirectOutcome>()

	/** Asks the circuits before a redirect is followed. Returns the error if one of them rejects the call. */
	enter(
		target: CircuitBreaker | undefined,
		pair: CircuitBreaker | undefined,
		runtime: Runtime,
		pipeline: string | undefined,
	): RedirectOutcome | CircuitOpenError | undefined {
		const rejection = (breaker: CircuitBreaker) => {
			const { settings, rejectionCause } = CircuitBreaker.layerOf(breaker)
			const retryAfterMs = Math.ceil(breaker.stats.retryAfterMs)
			return retryAfterMs > 0 && !settings.shadow
				? new CircuitOpenError(breaker.name, retryAfterMs, rejectionCause, pipeline)
				: undefined
		}
		// The circuit of the target is only asked: the redirecting origin must not change it.
		const rejected = target && rejection(target)
		if (rejected || !pair) return rejected
		const layer = CircuitBreaker.layerOf(pair)
		let outcome = this.#outcomes.get(layer)
		if (outcome) return outcome
		const ticket = layer.admit(runtime.now(), runtime)
		if (ticket < 0) return rejection(pair)
		outcome = { ticket, isFailure: layer.settings.isFailure, result: undefined }
		this.#outcomes.set(layer, outcome)
		return outcome
	}

	/** The call has ended. */
	settle(runtime: Runtime): void {
		const now = runtime.now()
		for (const [layer, { ticket, result }] of this.#outcomes)
			if (result === undefined) layer.ignore(ticket, now, runtime)
			else if (result === true) layer.succeed(ticket, now, 0, runtime)
			else layer.fail(ticket, now, 0, undefined, runtime, result)
	}
}
