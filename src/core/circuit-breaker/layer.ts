import type { RandomSource } from '../backoff/formula.ts'
import { CANCELLED } from '../classify/classification.ts'
import type { BoundLayer, Call } from '../engine/call.ts'
import type { Step } from '../engine/layer.ts'
import type { Emit, ObservableLayer } from '../engine/policy.ts'
import { CircuitOpenError } from '../errors/errors.ts'
import { errorFacts } from '../events/error-facts.ts'
import type { CircuitState } from '../events/events.ts'
import { notify, requireSync } from '../options/hooks.ts'
import { CallFact } from '../structures/call-fact.ts'
import { Circuit } from './circuit.ts'
import type { CircuitBreakerSettings } from './options.ts'

/** The name of a breaker that was given none. */
export const DEFAULT_NAME = 'circuitBreaker'

/**
 * What a breaker counts in place of a call's failure: a success if the service that was called works, nothing
 * if the failure does not concern it.
 */
export const circuitOutcome: CallFact<'success' | 'nothing'> = new CallFact()

/** Read the clock only once per 64 consecutive successes. */
const SUCCESSES_PER_CLOCK_READ = 64

export class CircuitBreakerLayer implements ObservableLayer {
	readonly circuit: Circuit
	settings: CircuitBreakerSettings
	emit: Emit | undefined
	emitsRoutine = false
	key: string | undefined
	/** The call that is being recorded, while there is a listener: it causes the change of state. */
	#cause: Call | undefined

	/** True if only consecutive failures count. Then successes need no clock read. */
	isPlain: boolean

	constructor(settings: CircuitBreakerSettings) {
		this.settings = settings
		this.circuit = new Circuit(settings, this)
		this.isPlain = isPlain(settings)
	}

	update(settings: CircuitBreakerSettings, now: number, source: RandomSource): void {
		// A hung probe is noticed first, and notifies the hook of the settings so far.
		this.circuit.update(settings, now, source)
		this.settings = settings
		this.isPlain = isPlain(settings)
	}

	onChange(from: CircuitState, to: CircuitState): void {
		const { onStateChange, name = DEFAULT_NAME, shadow } = this.settings
		// The event comes first, because the hook may change the state again.
		this.emit?.(this.#cause, undefined, { type: 'state_change', from, to, ...(shadow && { shadow }) })
		if (onStateChange)
			notify('onStateChange', onStateChange, from, to, { policy: name, key: this.key || undefined })
	}

	enter(call: Call, bound: BoundLayer): Step {
		// The duration matters only to a rule for slow calls and to listeners.
		const { state, generation } = this.circuit
		return state === 'closed' && !this.emitsRoutine && this.settings.slowCallMs === Infinity
			? call.enterLayer(bound, generation)
			: this.#enter(call, bound)
	}

	/** A separate method, because its closure would otherwise be allocated for every call. */
	#enter(call: Call, bound: BoundLayer): Step {
		const { runtime } = bound
		const now = call.now(runtime)
		this.#cause = this.emit && call
		const ticket = this.circuit.admit(now, runtime)
		this.#cause = undefined
		if (ticket >= 0) return call.enterLayer(bound, { ticket, since: now })
		const make = this.rejection(call, bound, now)
		// Entered without state: the layers inside lead back to this one.
		if (!make) return call.enterLayer(bound)
		if (call.current) return call.reject(make())
		// Without an outer layer, the error is created further out: see rejection.ts.
		call.stop = 'rejected'
		call.value = make
		return 'rejected'
	}

	/** Reports a rejected call. Returns a function that creates the error; undefined in shadow mode. */
	rejection(call: Call, bound: BoundLayer, now: number): (() => CircuitOpenError) | undefined {
		const { name = DEFAULT_NAME, shadow } = this.settings
		const retryAfterMs = Math.ceil(this.circuit.retryAfterMs(now))
		this.emit?.(call, bound, {
			type: 'rejected',
			reason: this.circuit.state === 'isolated' ? 'isolated' : 'circuit-open',
			...(retryAfterMs < Infinity && { retryAfterMs }),
			...(shadow && { shadow }),
		})
		return shadow
			? undefined
			: () => new CircuitOpenError(name, retryAfterMs, this.circuit.openState?.cause, call.pipeline.name)
	}

	leave(call: Call, bound: BoundLayer): Step {
		const { runtime } = bound
		const state = call.layerState(bound) as number | TimedCall | undefined
		// A call's time is on its pipeline's clock, and is of no use to a breaker with its own runtime.
		const since = runtime === call.pipeline.runtime ? call.startedAt : undefined
		if (typeof state === 'object') this.#recordOutcome(call, bound, state.ticket, state.since)
		else if (state === undefined) return 'continue'
		else if (!call.ok || this.emitsRoutine || this.settings.isFailureResult)
			this.#recordOutcome(call, bound, state, since)
		else if (!this.isPlain) this.circuit.succeed(state, runtime.now(), 0, runtime)
		else
			this.circuit.recordSuccessFast(
				state,
				since ?? (call.pipeline.consecutiveSuccesses % SUCCESSES_PER_CLOCK_READ ? undefined : runtime.now()),
			)
		return 'continue'
	}

	/**
	 * Counts the success of a probe that has not ended, because its response has begun: a long stream is not a
	 * hung one. Its end then counts nothing.
	 */
	confirmProbe(call: Call, bound: BoundLayer): void {
		const state = call.layerState(bound) as number | TimedCall | undefined
		if (typeof state !== 'object') return
		const { runtime } = bound
		this.#cause = this.emit && call
		this.circuit.succeed(state.ticket, runtime.now(), 0, runtime)
		this.#cause = undefined
	}

	/**
	 * Returns what counts in place of a failure; undefined: the failure counts. gRPC replaces this function.
	 */
	outcomeInstead(call: Call): 'success' | 'nothing' | undefined {
		return circuitOutcome.of(call)
	}

	#recordOutcome(call: Call, bound: BoundLayer, ticket: number, since: number | undefined): void {
		const { isFailure, isFailureResult } = this.settings
		const { ok, value, lastAttempt, pipeline } = call
		const { runtime } = bound
		if (ok) {
			const isBad = isFailureResult && requireSync('isFailureResult', isFailureResult(value))
			this.#count(call, bound, ticket, since, runtime.now(), isBad)
			return
		}
		// A hook threw, here (then this runs a second time) or further in: that says nothing about the
		// dependency.
		const { kind, retryAfterMs } = call.stop === 'hook-threw' ? CANCELLED : call.classify(bound)
		// If the classification has recorded the attempt, the clock was just read.
		const recorded = call.lastAttempt === lastAttempt ? undefined : call.lastAttempt
		const now = recorded && runtime === pipeline.runtime ? recorded.endedAt : runtime.now()
		const instead = this.outcomeInstead(call)
		if (kind === 'cancelled' || instead === 'nothing') this.circuit.ignore(ticket, now, runtime)
		else {
			const counts = isFailure ? requireSync('isFailure', isFailure(value)) : kind !== 'permanent'
			this.#count(call, bound, ticket, since, now, counts && !instead, retryAfterMs)
		}
	}

	#count(
		call: Call,
		bound: BoundLayer,
		ticket: number,
		since: number | undefined,
		now: number,
		isFailure: boolean | undefined,
		retryAfterMs?: number,
	): void {
		const { emit } = this
		const { runtime } = bound
		const durationMs = now - (since ?? now)
		if (this.emitsRoutine)
			emit?.(
				call,
				bound,
				isFailure
					? { type: 'failure', durationMs, ...(!call.ok && errorFacts(call.value)) }
					: { type: 'success', durationMs },
			)
		this.#cause = emit && call
		if (isFailure)
			this.circuit.fail(ticket, now, durationMs, retryAfterMs, runtime, call.ok ? undefined : call.value)
		else this.circuit.succeed(ticket, now, durationMs, runtime)
		this.#cause = undefined
	}
}

/** A call whose times matter. For other calls only the ticket is stored. */
interface TimedCall {
	readonly ticket: number
	readonly since: number
}

const isPlain = ({ errorRateThreshold, slowCallMs, windowSize, isFailureResult }: CircuitBreakerSettings) =>
	errorRateThreshold === Infinity && slowCallMs === Infinity && windowSize === Infinity && !isFailureResult
