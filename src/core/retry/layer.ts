/** The two halves of a retry policy, without its face: all that `retryWithBackoff` needs. */
import { type Call, GO, type Layer, REFUSED, type Seat, type Step, Visit } from '../engine/call.ts'
import { decided, observe } from '../engine/hooks.ts'
import type { StopReason, Wait } from '../explain/record.ts'
import { decideRetry, limitPassed, type RetryState, type TimeLeft } from './decision.ts'
import type { RetrySettings } from './options.ts'

/** Told what happens to calls, while somebody listens. */
export interface RetryObserver {
	retrying(call: Call, visit: RetryVisit, wait: Wait): void
	ended(call: Call, visit: RetryVisit): void
}

export class RetryLayer implements Layer {
	readonly settings: RetrySettings
	/** Undefined while nobody listens, so that events then cost one comparison. */
	observer: RetryObserver | undefined

	constructor(settings: RetrySettings) {
		this.settings = settings
	}

	enter(call: Call, seat: Seat): Step {
		const isTimed = this.observer || this.settings.maxElapsedMs !== undefined
		call.visit(new RetryVisit(this, seat, isTimed ? seat.runtime.now() : 0))
		return GO
	}
}

/** One call under a retry policy. */
export class RetryVisit extends Visit implements RetryState {
	attempt = 0
	previousDelayMs: number
	readonly startedAt: number
	readonly #layer: RetryLayer

	constructor(layer: RetryLayer, seat: Seat, startedAt: number) {
		super(seat)
		this.#layer = layer
		this.startedAt = startedAt
		this.previousDelayMs = layer.settings.baseDelayMs
	}

	override leave(call: Call): Step {
		if (call.stop === undefined) {
			const wait = this.#decide(call)
			if (typeof wait === 'object') return this.#repeat(call, wait)
			call.stop = wait
		}
		this.#layer.observer?.ended(call, this)
		return GO
	}

	override resume(call: Call): Step {
		call.stop = limitPassed(0, this.#timeLeft(call))
		return call.stop ? REFUSED : call.nextAttempt(this.attempt)
	}

	#decide(call: Call): Wait | StopReason | undefined {
		const { settings } = this.#layer
		const { retryResult } = settings
		if (call.ok) {
			if (!retryResult || !decided('retryResult', retryResult(call.value, this.attempt))) return undefined
			call.note('unwanted-result')
		}
		const verdict = call.ok ? undefined : call.judge(this.seat)
		if (call.isAborted) return 'abort'
		return decideRetry(settings, this, call.value, verdict, this.#timeLeft(call), () =>
			this.seat.runtime.random(),
		)
	}

	#repeat(call: Call, wait: Wait): Step {
		const { observer, settings } = this.#layer
		const { onRetry } = settings
		const { delayMs } = wait
		this.attempt++
		if (wait.source === 'backoff') this.previousDelayMs = delayMs
		call.noteWait(wait)
		if (onRetry) observe('onRetry', () => onRetry(call.ok ? undefined : call.value, this.attempt, delayMs))
		observer?.retrying(call, this, wait)
		return delayMs
	}

	#timeLeft({ options }: Call): TimeLeft {
		const { maxElapsedMs } = this.#layer.settings
		return {
			elapsedLimit:
				maxElapsedMs === undefined ? Infinity : this.startedAt + maxElapsedMs - this.seat.runtime.now(),
			deadline: options?.deadline?.remainingMs ?? Infinity,
		}
	}
}
