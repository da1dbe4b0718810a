/** The two halves of a retry policy, without its face: all that `retryWithBackoff` needs. */
import type { Budget } from '../budget/budget.ts'
import { depositOnce, isTimeout } from '../budget/deposit.ts'
import type { Call, Layer, Seat } from '../engine/call.ts'
import { decided, observe } from '../engine/hooks.ts'
import { GO, type Step } from '../engine/layer.ts'
import { note } from '../engine/record-keeping.ts'
import type { StopReason, Wait } from '../explain/record.ts'
import { limitPassed, nextWait, refusal } from './decision.ts'
import type { RetrySettings } from './options.ts'

/** Told of every wait and, without one, of the end of a call. */
export type RetryObserver = (call: Call, seat: Seat, visit: RetryVisit, wait: Wait | undefined) => void

export class RetryLayer implements Layer {
	settings: RetrySettings
	/** Undefined while nobody listens, so that events then cost one comparison. */
	observer: RetryObserver | undefined

	constructor(settings: RetrySettings) {
		this.settings = settings
	}

	enter(call: Call, seat: Seat<RetryLayer>): Step {
		const { budget, maxElapsedMs } = this.settings
		if (budget) depositOnce(call, budget, seat.runtime)
		const needsStart = this.observer || maxElapsedMs < Infinity
		return call.visit(seat, needsStart ? new RetryVisit(seat.runtime.now()) : undefined)
	}

	leave(call: Call, seat: Seat<RetryLayer>): Step {
		const { stop } = call
		const wait = stop && stop !== 'refused' ? stop : decide(call, seat)
		if (typeof wait === 'object') return repeat(call, seat, wait)
		call.stop = wait ?? stop
		if (!call.ok && wait && !call.aside?.cut) call.extra.isGivenUp = true
		tell(call, seat)
		return GO
	}

	resume(call: Call, seat: Seat<RetryLayer>): Step {
		call.stop = limit(call, seat, 0)
		return call.stop ? call.turnBack() : call.nextAttempt()
	}
}

/** What a retry remembers of a call; of most it remembers nothing, for they succeed. */
export class RetryVisit {
	/** From 0: the attempt whose outcome is decided upon. */
	attempt = 0
	/** The latest backoff delay. A Retry-After wait is not one. */
	previousDelayMs: number | undefined
	/** What the latest retry was for. */
	paidFor: 'timeout' | 'failure' | undefined
	/** Undefined when nobody asks for it. */
	readonly startedAt: number | undefined

	constructor(startedAt?: number) {
		this.startedAt = startedAt
	}
}

/** What is remembered so far; before the first failure, as good as nothing. */
const visitOf = (call: Call, seat: Seat): RetryVisit => (call.kept(seat) as RetryVisit | undefined) ?? FIRST

const FIRST: RetryVisit = /* @__PURE__ */ Object.freeze(/* @__PURE__ */ new RetryVisit())

function decide(call: Call, seat: Seat<RetryLayer>): Wait | StopReason | undefined {
	const { ok, value } = call
	const { settings } = seat.layer
	const { retryResult, budget } = settings
	if (ok && !retryResult && !budget) return undefined
	const { attempt, paidFor, previousDelayMs = settings.baseDelayMs } = visitOf(call, seat)
	if (ok) {
		if (!retryResult || !decided('retryResult', retryResult(value, attempt))) {
			if (budget && !isShared(budget, seat.next)) budget.recordOutcome(true, paidFor)
			return undefined
		}
		note(call, 'unwanted-result')
	}
	if (isLeftToOuter(call, seat)) return undefined
	const verdict = ok ? undefined : call.judge(seat)
	const stop = call.isAborted ? call.cutOffBy : refusal(settings, attempt, value, verdict)
	// Work that heard of the deadline's end by its signal says no more than that it was cancelled.
	if (stop === 'cancelled') return call.cutOffBy ?? stop
	if (stop !== 'permanent') budget?.recordOutcome(false)
	if (stop) return stop
	const wait = nextWait(settings, attempt, previousDelayMs, value, verdict, seat.runtime)
	const passed = limit(call, seat, wait.delayMs)
	if (passed || !budget) return passed ?? wait
	const now = seat.runtime.now()
	if (!budget.canRetry(now, isTimeout(value))) return 'budget'
	budget.recordRetry(now, isTimeout(value))
	return wait
}

/** Is there a retry further in that tells this budget of what it sees? */
function isShared(budget: Budget, inner: Seat | undefined): boolean {
	for (let seat = inner; seat; seat = seat.next)
		if (seat.layer instanceof RetryLayer && seat.layer.settings.budget === budget) return true
	return false
}

/** The innermost retries, being nearest the failure, unless one of them would rather have the outermost do so. */
function isLeftToOuter(call: Call, seat: Seat<RetryLayer>): boolean {
	let isAsked = call.aside?.isLeftToOuter || seat.layer.settings.nested === 'outermost'
	let hasOuter = false
	let { outer } = seat
	for (let around: Call | undefined = call; around; outer = around?.at) {
		for (; outer; outer = outer.outer) {
			if (!(outer.layer instanceof RetryLayer)) continue
			hasOuter = true
			isAsked ||= outer.layer.settings.nested === 'outermost'
		}
		around = around.around
	}
	if (!hasOuter || !isAsked) return false
	call.extra.isLeftToOuter = true
	return true
}

function repeat(call: Call, seat: Seat<RetryLayer>, wait: Wait): Step {
	const { onRetry } = seat.layer.settings
	const { latest } = call
	const { delayMs, source } = wait
	const visit = visitOf(call, seat) === FIRST ? new RetryVisit() : visitOf(call, seat)
	call.visit(seat, visit)
	visit.attempt++
	visit.paidFor = isTimeout(call.value) ? 'timeout' : 'failure'
	if (source === 'backoff') visit.previousDelayMs = delayMs
	if (latest) {
		latest.delayMs = delayMs
		latest.delaySource = source
	}
	if (onRetry) observe('onRetry', onRetry, call.ok ? undefined : call.value, visit.attempt, delayMs)
	tell(call, seat, wait)
	return delayMs
}

function tell(call: Call, seat: Seat<RetryLayer>, wait?: Wait): void {
	const { observer } = seat.layer
	if (observer) observe('telling an event', observer, call, seat, visitOf(call, seat), wait)
}

function limit(call: Call, seat: Seat<RetryLayer>, waitMs: number): StopReason | undefined {
	const { maxElapsedMs } = seat.layer.settings
	const { startedAt } = visitOf(call, seat)
	// A call that began before there was a limit has none.
	const elapsedMs = maxElapsedMs < Infinity && startedAt !== undefined ? seat.runtime.now() - startedAt : 0
	return limitPassed(waitMs, maxElapsedMs - elapsedMs, call.options?.deadline?.remainingMs ?? Infinity)
}
