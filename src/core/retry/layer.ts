/** The two halves of a retry policy, without its face: all that `retryWithBackoff` needs. */
import { type Call, GO, type Layer, type Seat, type Step, type Visit } from '../engine/call.ts'
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

/**
 * One call under a retry policy. Its parts are functions beside it and not private methods, which would cost every call a
 * mark on this object.
 */
export class RetryVisit implements Visit {
	outer: Visit | undefined
	attempt = 0
	readonly seat: Seat
	readonly startedAt: number
	readonly layer: RetryLayer

	constructor(layer: RetryLayer, seat: Seat) {
		this.seat = seat
		this.layer = layer
		this.startedAt = layer.observer || layer.settings.maxElapsedMs < Infinity ? seat.runtime.now() : 0
	}

	leave(call: Call): Step {
		const wait = call.stop ?? decide(this, call)
		if (typeof wait === 'object') return repeat(this, call, wait)
		call.stop = wait
		this.layer.observer?.(call, this)
		return GO
	}

	resume(call: Call): Step {
		call.stop = limit(this, call, 0)
		return call.stop ? call.turnBack() : call.nextAttempt(this.attempt)
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
	const stop = call.isAborted ? 'abort' : refusal(settings, attempt, value, verdict)
	// Work that heard of the deadline's end by its signal says no more than that it was cancelled.
	if (stop) return stop === 'cancelled' && call.options?.deadline?.isExpired ? 'deadline' : stop
	const previous = previousDelayMs(call) ?? settings.baseDelayMs
	const wait = nextWait(settings, attempt, previous, value, verdict, () => seat.runtime.random())
	return limit(visit, call, wait.delayMs) ?? wait
}

function repeat(visit: RetryVisit, call: Call, wait: Wait): Step {
	const { observer, settings } = visit.layer
	const { onRetry } = settings
	const { latest } = call
	const { delayMs } = wait
	visit.attempt++
	if (latest) {
		latest.delayMs = delayMs
		latest.delaySource = wait.source
	}
	if (onRetry) observe('onRetry', () => onRetry(call.ok ? undefined : call.value, visit.attempt, delayMs))
	observer?.(call, visit, wait)
	return delayMs
}

function limit(
	{ seat, layer, startedAt }: RetryVisit,
	{ options }: Call,
	waitMs: number,
): StopReason | undefined {
	const { maxElapsedMs } = layer.settings
	const elapsedMs = maxElapsedMs < Infinity ? seat.runtime.now() - startedAt : 0
	return limitPassed(waitMs, maxElapsedMs - elapsedMs, options?.deadline?.remainingMs ?? Infinity)
}

/** The latest backoff delay of a call. A Retry-After wait is not one. */
function previousDelayMs(call: Call): number | undefined {
	let note = call.latest
	while (note && note.delaySource !== 'backoff') note = note.before
	return note?.delayMs
}
