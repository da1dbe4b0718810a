/** The two halves of a retry policy, without its face: all that `retryWithBackoff` needs. */
import { type Call, GO, type Layer, type Seat, type Step, Visit } from '../engine/call.ts'
import { decided, observe } from '../engine/hooks.ts'
import type { StopReason, Wait } from '../explain/record.ts'
import { limitPassed, nextWait, type RetryState, refusal } from './decision.ts'
import type { RetrySettings } from './options.ts'

/** Told of every wait and, without one, of the end of a call. */
export type RetryObserver = (call: Call, visit: RetryVisit, wait?: Wait) => void

export class RetryLayer implements Layer {
	readonly settings: RetrySettings
	/** Undefined while nobody listens, so that events then cost one comparison. */
	observer: RetryObserver | undefined

	constructor(settings: RetrySettings) {
		this.settings = settings
	}

	enter(call: Call, seat: Seat): Step {
		call.visit(new RetryVisit(this, seat))
		return GO
	}
}

/** One call under a retry policy. */
export class RetryVisit extends Visit implements RetryState {
	attempt = 0
	previousDelayMs: number
	readonly startedAt: number
	readonly settings: RetrySettings
	readonly #layer: RetryLayer

	constructor(layer: RetryLayer, seat: Seat) {
		super(seat)
		const { settings, observer } = layer
		this.#layer = layer
		this.settings = settings
		this.previousDelayMs = settings.baseDelayMs
		this.startedAt = observer || settings.maxElapsedMs !== undefined ? seat.runtime.now() : 0
	}

	override leave(call: Call): Step {
		const { observer } = this.#layer
		const wait = call.stop ? undefined : this.#decide(call)
		if (typeof wait !== 'object') {
			call.stop ??= wait
			observer?.(call, this)
			return GO
		}
		const { onRetry } = this.settings
		const { delayMs } = wait
		this.attempt++
		call.noteWait(wait)
		if (wait.source === 'backoff') this.previousDelayMs = delayMs
		if (onRetry) observe('onRetry', () => onRetry(call.ok ? undefined : call.value, this.attempt, delayMs))
		observer?.(call, this, wait)
		return delayMs
	}

	override resume(call: Call): Step {
		call.stop = this.#limitPassed(call, 0)
		return call.stop ? call.turnBack() : call.nextAttempt(this.attempt)
	}

	#decide(call: Call): Wait | StopReason | undefined {
		const { ok, value } = call
		const { retryResult } = this.settings
		if (ok) {
			if (!retryResult || !decided('retryResult', retryResult(value, this.attempt))) return undefined
			call.note('unwanted-result')
		}
		const verdict = ok ? undefined : call.judge(this.seat)
		const stop = call.isAborted ? 'abort' : refusal(this, value, verdict)
		if (stop) return stop
		const wait = nextWait(this, value, verdict, () => this.seat.runtime.random())
		return this.#limitPassed(call, wait.delayMs) ?? wait
	}

	#limitPassed({ options }: Call, waitMs: number): StopReason | undefined {
		const { maxElapsedMs } = this.settings
		const untilElapsedLimit =
			maxElapsedMs === undefined ? Infinity : this.startedAt + maxElapsedMs - this.seat.runtime.now()
		return limitPassed(waitMs, untilElapsedLimit, options?.deadline?.remainingMs ?? Infinity)
	}
}
