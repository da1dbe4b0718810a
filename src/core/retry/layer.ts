/** The two halves of a retry policy, without its face: all that `retryWithBackoff` needs. */
import { type Call, GO, type Layer, type Seat, type Step, type Visit } from '../engine/call.ts'
import { decided, observe } from '../engine/hooks.ts'
import type { StopReason, Wait } from '../explain/record.ts'
import { limitPassed, nextWait, refusal } from './decision.ts'
import type { RetrySettings } from './options.ts'

/** Told of every wait and, without one, of the end of a call. */
export type RetryObserver = (call: Call, visit: RetryVisit, wait: Wait | undefined) => void

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

/**
 * One call under a retry policy. Its parts are functions beside it and not private methods, which would cost every call a
 * mark on this object.
 */
export class RetryVisit implements Visit {
	outer: Visit | undefined
	/** From 0: the attempt whose outcome is decided upon. */
	attempt = 0
	/** The latest backoff delay. A Retry-After wait is not one. */
	previousDelayMs: number | undefined
	readonly seat: Seat
	/** Undefined when nobody asks for it. */
	readonly startedAt: number | undefined
	readonly layer: RetryLayer

	constructor(layer: RetryLayer, seat: Seat) {
		this.seat = seat
		this.layer = layer
		this.startedAt = layer.observer || layer.settings.maxElapsedMs < Infinity ? seat.runtime.now() : undefined
	}

	leave(call: Call): Step {
		const wait = call.stop ?? decide(this, call)
		if (typeof wait === 'object') return repeat(this, call, wait)
		call.stop = wait
		tell(this, call)
		return GO
	}

	resume(call: Call): Step {
		call.stop = limit(this, call, 0)
		return call.stop ? call.turnBack() : call.nextAttempt()
	}
}

function decide(visit: RetryVisit, call: Call): Wait | StopReason | undefined {
	const { ok, value } = call
	const { attempt, seat, layer } = visit
	const { settings } = layer
	const { retryResult } = settings
	if (ok) {
		if (!retryResult || !decided('retryResult', retryResult(value, attempt))) return undefined
		call.note('unwanted-result')
	}
	const verdict = ok ? undefined : call.judge(seat)
	const stop = call.isAborted ? call.cutOffBy : refusal(settings, attempt, value, verdict)
	// Work that heard of the deadline's end by its signal says no more than that it was cancelled.
	if (stop) return stop === 'cancelled' ? (call.cutOffBy ?? stop) : stop
	const previous = visit.previousDelayMs ?? settings.baseDelayMs
	const wait = nextWait(settings, attempt, previous, value, verdict, seat.runtime)
	return limit(visit, call, wait.delayMs) ?? wait
}

function repeat(visit: RetryVisit, call: Call, wait: Wait): Step {
	const { onRetry } = visit.layer.settings
	const { latest } = call
	const { delayMs, source } = wait
	visit.attempt++
	if (source === 'backoff') visit.previousDelayMs = delayMs
	if (latest) {
		latest.delayMs = delayMs
		latest.delaySource = source
	}
	if (onRetry) observe('onRetry', onRetry, call.ok ? undefined : call.value, visit.attempt, delayMs)
	tell(visit, call, wait)
	return delayMs
}

function tell(visit: RetryVisit, call: Call, wait?: Wait): void {
	const { observer } = visit.layer
	if (observer) observe('telling an event', observer, call, visit, wait)
}

function limit(
	{ seat, layer, startedAt }: RetryVisit,
	{ options }: Call,
	waitMs: number,
): StopReason | undefined {
	const { maxElapsedMs } = layer.settings
	const elapsedMs = maxElapsedMs < Infinity ? seat.runtime.now() - (startedAt ?? 0) : 0
	return limitPassed(waitMs, maxElapsedMs - elapsedMs, options?.deadline?.remainingMs ?? Infinity)
}
