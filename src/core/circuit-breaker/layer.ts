import type { Chance } from '../backoff/jitter.ts'
import { CANCELLED } from '../classify/classify.ts'
import type { Call, Seat } from '../engine/call.ts'
import { decided, observe } from '../engine/hooks.ts'
import { GO, type Step } from '../engine/layer.ts'
import type { Tell, TellingLayer } from '../engine/leaf-policy.ts'
import { refuseBy } from '../engine/refusal.ts'
import { CircuitOpenError } from '../errors/errors.ts'
import type { CircuitState } from '../events/events.ts'
import { describeError } from '../explain/record.ts'
import { Circuit } from './circuit.ts'
import type { CircuitBreakerSettings } from './options.ts'

/** What a breaker is called that was given no name. */
export const BREAKER = 'circuitBreaker'

/** Success after success, the clock is looked at for every so many of them only. */
const SUCCESSES_A_LOOK = 64

/** The circuit as a layer. One object and not two, for there may be a breaker for each of ten thousand hosts. */
export class CircuitBreakerLayer extends Circuit implements TellingLayer {
	declare settings: CircuitBreakerSettings
	tell: Tell | undefined

	/** Most breakers count failures in a row, and most calls go well: those need no second look at the clock. */
	isPlain: boolean

	constructor(settings: CircuitBreakerSettings) {
		super(settings)
		this.isPlain = isPlain(settings)
	}

	override update(settings: CircuitBreakerSettings, now: number, chance: Chance): void {
		super.update(settings, now, chance)
		this.isPlain = isPlain(settings)
	}

	override changed(from: CircuitState, to: CircuitState): void {
		const { onStateChange } = this.settings
		// In this order, for the hook may change the state again.
		this.tell?.(undefined, undefined, { type: 'state_change', from, to })
		if (onStateChange) observe('onStateChange', onStateChange, from, to)
	}

	enter(call: Call, seat: Seat): Step {
		return this.isPlain && !this.tell && this.state === 'closed'
			? call.visit(seat, this.generation)
			: this.#enter(call, seat)
	}

	/** Apart, for what is seen by a function in here would be made for every call. */
	#enter(call: Call, seat: Seat): Step {
		const { settings, tell } = this
		const { runtime } = seat
		const now = call.now(runtime)
		const ticket = this.admit(now, runtime)
		if (ticket >= 0) return call.visit(seat, { ticket, since: now })
		const retryAfterMs = Math.ceil(this.retryAfterMs(now))
		const { shadow } = settings
		tell?.(call, seat, {
			type: 'rejected',
			reason: 'circuit-open',
			...(retryAfterMs < Infinity ? { retryAfterMs } : {}),
			...(shadow ? { shadow } : {}),
		})
		// Visited all the same, with nothing to remember: the layers inside will lead back here.
		if (shadow) return call.visit(seat)
		const make = () => new CircuitOpenError(settings.name ?? BREAKER, retryAfterMs)
		// With nobody around to be told, the error is made further out: most of its price is the depth of the stack.
		return call.at ? call.refuse(make()) : refuseBy(call, make)
	}

	leave(call: Call, seat: Seat): Step {
		const { runtime } = seat
		const state = call.kept(seat) as number | Timed | undefined
		if (state === undefined) return GO
		// A call's time is its pipeline's, and means nothing to a breaker that has a clock of its own.
		const since = runtime === call.plan.runtime ? call.startedAt : undefined
		const isTimed = typeof state !== 'number'
		if (call.ok && !isTimed)
			this.pass(state, since ?? (call.plan.streak % SUCCESSES_A_LOOK ? undefined : runtime.now()))
		else this.#judge(call, seat, isTimed ? state : { ticket: state, since: since ?? runtime.now() })
		return GO
	}

	#judge(call: Call, seat: Seat, visit: Timed): void {
		const { isFailure, isFailureResult } = this.settings
		const { ok, value } = call
		if (ok) {
			this.#count(call, seat, visit, isFailureResult && decided('isFailureResult', isFailureResult(value)))
			return
		}
		const { runtime } = seat
		// A hook threw, here (then this is told once more) or further in: that says nothing about the other side.
		const { kind, retryAfterMs } = call.stop === 'hook-threw' ? CANCELLED : call.judge(seat)
		if (kind === 'cancelled') this.ignore(visit.ticket, runtime.now(), runtime)
		else {
			const counts = isFailure ? decided('isFailure', isFailure(value)) : kind !== 'permanent'
			this.#count(call, seat, visit, counts, retryAfterMs)
		}
	}

	#count(call: Call, seat: Seat, visit: Timed, isFailure: boolean | undefined, retryAfterMs?: number): void {
		const { tell } = this
		const { runtime } = seat
		const { ticket, since } = visit
		const now = runtime.now()
		const durationMs = now - since
		if (isFailure) {
			tell?.(call, seat, { type: 'failure', durationMs, ...(call.ok ? {} : describeError(call.value)) })
			this.fail(ticket, now, durationMs, retryAfterMs, runtime)
		} else {
			tell?.(call, seat, { type: 'success', durationMs })
			this.succeed(ticket, now, durationMs, runtime)
		}
	}
}

/** A call whose time matters. Of the others only the ticket is kept. */
interface Timed {
	readonly ticket: number
	readonly since: number
}

const isPlain = ({ errorRateThreshold, slowCallMs, windowSize, isFailureResult }: CircuitBreakerSettings) =>
	errorRateThreshold === Infinity && slowCallMs === Infinity && windowSize === Infinity && !isFailureResult
