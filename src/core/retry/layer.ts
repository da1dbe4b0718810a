/** The two halves of a retry policy, without its face: all that `retryWithBackoff` needs. */
import { type Call, GO, type Layer, type Seat, type Step, Visit } from '../engine/call.ts'
import { decided, observe } from '../engine/hooks.ts'
import type { StopReason, Wait } from '../explain/record.ts'
import { limitPassed, nextWait, refusal } from './decision.ts'
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
		return call.visit(new RetryVisit(this, seat))
	}
}

/** One call under a retry policy. */
export class RetryVisit extends Visit {
	attempt = 0
	readonly startedAt: number
	readonly #layer: RetryLayer

	constructor(layer: RetryLayer, seat: Seat) {
		super(seat)
		const { settings, observer } = layer
		this.#layer = layer
		this.startedAt = observer || settings.maxElapsedMs < Infinity ? seat.runtime.now() : 0
	}

	override leave(call: Call): Step {
		const { observer, settings } = this.#layer
		const wait = call.stop ?? this.#decide(call)
		if (typeof wait !== 'object') {
			call.stop = wait
			observer?.(call, this)
			return GO
		}
		const { onRetry } = settings
		const { delayMs, source } = wait
		this.attempt++
		const { latest } = call
		if (latest) {
			latest.delayMs = delayMs
			latest.delaySource = source
		}
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
		const { attempt, seat } = this
		const { settings } = this.#layer
		const { retryResult } = settings
		if (ok) {
			if (!retryResult || !decided('retryResult', retryResult(value, attempt))) return undefined
			call.note('unwanted-result')
		}
		const verdict = ok ? undefined : call.judge(seat)
		const stop = call.isAborted ? 'abort' : refusal(settings, attempt, value, verdict)
		if (stop) return stop
		const previous = previousDelayMs(call) ?? settings.baseDelayMs
		const wait = nextWait(settings, attempt, previous, value, verdict, () => seat.runtime.random())
		return this.#limitPassed(call, wait.delayMs) ?? wait
	}

	#limitPassed({ options }: Call, waitMs: number): StopReason | undefined {
		const { maxElapsedMs } = this.#layer.settings
		const elapsed = maxElapsedMs < Infinity ? this.seat.runtime.now() - this.startedAt : 0
		return limitPassed(waitMs, maxElapsedMs - elapsed, options?.deadline?.remainingMs ?? Infinity)
	}
}

/** The latest backoff delay of a call. A Retry-After wait is not one. */
function previousDelayMs(call: Call): number | undefined {
	let note = call.latest
	while (note && note.delaySource !== 'backoff') note = note.before
	return note?.delayMs
}
