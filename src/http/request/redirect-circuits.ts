/**
 * What the circuits of redirects count. There is one for each pair of origins, so that no origin can open the
 * circuit of another by redirecting to a path that fails. Like the breaker of an origin they count a call
 * once, however many attempts it makes.
 */
import type { CircuitBreakerLayer } from '../../core/circuit-breaker/layer.ts'
import type { CircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import type { BoundLayer, Call } from '../../core/engine/call.ts'
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

	/** Asks the circuits before a redirect is followed. Throws a CircuitOpenError if one rejects the call. */
	enter(
		call: Call,
		bound: BoundLayer,
		target: CircuitBreakerLayer | undefined,
		pair: CircuitBreakerLayer | undefined,
	): RedirectOutcome | undefined {
		const { runtime } = bound
		const now = runtime.now()
		const rejectBy = (layer: CircuitBreakerLayer) => {
			const make = layer.rejection(call, bound, now)
			if (make) throw make()
		}
		// The circuit of the target is only asked: the redirecting origin must not change it.
		if (target && target.circuit.retryAfterMs(now) > 0) rejectBy(target)
		if (!pair) return undefined
		let outcome = this.#outcomes.get(pair)
		if (!outcome) {
			const ticket = pair.circuit.admit(now, runtime)
			if (ticket < 0) rejectBy(pair)
			outcome = { ticket, isFailure: pair.settings.isFailure, result: undefined }
			this.#outcomes.set(pair, outcome)
		}
		return outcome
	}

	/** The call has ended. */
	settle(runtime: Runtime): void {
		const now = runtime.now()
		for (const [{ circuit }, { ticket, result }] of this.#outcomes)
			if (result === undefined) circuit.ignore(ticket, now, runtime)
			else if (result === true) circuit.succeed(ticket, now, 0, runtime)
			else circuit.fail(ticket, now, 0, undefined, runtime, result)
	}
}
