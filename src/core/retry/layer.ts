/** The two halves of a retry policy, without the policy class: all that `retryWithBackoff` needs. */
import { type Budget, isTimeout, recordRequestOnce } from '../budget/budget.ts'
import type { BoundLayer, Call, Layer } from '../engine/call.ts'
import { isPassedOn, recordAttempt } from '../engine/call-record.ts'
import type { Step } from '../engine/layer.ts'
import { findExhausted, nextStart } from '../explain/exhausted-retries.ts'
import type { RetryDelay, StopReason } from '../explain/record.ts'
import { notify, requireSync } from '../options/hooks.ts'
import { CallFact } from '../structures/call-fact.ts'
import { nextWait, stopReason } from './decision.ts'
import type { RetrySettings } from './options.ts'

/** The shortest interval between questions for the result of an earlier attempt. */
const MIN_PENDING_MS = 100

/**
 * How many retries of a call count so far, if not all do. -1 if the service still works on an earlier attempt:
 * the next one only asks for its result and does not count.
 */
export const countedRetries: CallFact<number> = new CallFact()

/** Called for every wait and, without one, for the end of a call. */
export type RetryObserver = (
	call: Call,
	bound: BoundLayer,
	state: Readonly<RetryState>,
	wait: RetryDelay | undefined,
) => void

export class RetryLayer implements Layer {
	/** The number of the start; from the first failure on a RetryState. */
	declare readonly callState: number | RetryState
	settings: RetrySettings
	/** Undefined while there is no listener, so that events then cost one comparison. */
	observer: RetryObserver | undefined
	/** True if a listener needs the event of a call that succeeds at the first attempt. */
	emitsRoutine = false
	/**
	 * Set for a protocol whose servers say exactly when to retry (gRPC's pushback). Returns which attempt's
	 * backoff applies without such a wait; a wait is followed exactly, without jitter, 0 included.
	 */
	backoffAttempt: ((call: Call, attempt: number) => number) | undefined

	constructor(settings: RetrySettings) {
		this.settings = settings
	}

	enter(call: Call, bound: BoundLayer<RetryLayer>): Step {
		const { budget, maxElapsedMs } = this.settings
		if (budget) recordRequestOnce(call, budget, bound.runtime)
		const needsTime = this.emitsRoutine || maxElapsedMs < Infinity
		const start = nextStart()
		return call.enterLayer(bound, needsTime ? new RetryState(start, bound.runtime.now()) : start)
	}

	leave(call: Call, bound: BoundLayer<RetryLayer>): Step {
		const { stop } = call
		const wait = stop && isDecided(stop, call, this.settings) ? stop : decide(call, bound)
		if (typeof wait === 'object') return scheduleRetry(call, bound, wait)
		call.stop = wait ?? stop
		if (!call.ok && wait && !call.rare?.interruption) call.rareState.finalSince = ownState(call, bound).start
		notifyObserver(call, bound)
		return 'continue'
	}

	resume(call: Call, bound: BoundLayer<RetryLayer>): Step {
		call.stop = exceededLimit(call, bound)
		ownState(call, bound).attemptStart = nextStart()
		return call.stop ? call.runLeave() : call.nextAttempt()
	}
}

/** What a retry remembers about a call. Most calls succeed and need none. */
export class RetryState {
	/** The attempt whose outcome is decided, from 0. */
	attempt = 0
	/** The last backoff delay. A Retry-After wait does not count. */
	previousDelayMs: number | undefined
	/** The kind of failure that the last retry followed, for a budget. */
	chargedFor: 'timeout' | 'failure' | undefined
	/** The number of the start, and of the start of the current attempt. */
	readonly start: number
	attemptStart: number
	/** When the call entered; undefined if no limit or listener needs it. */
	readonly startedAt: number | undefined

	constructor(start: number, startedAt?: number) {
		this.start = start
		this.attemptStart = start
		this.startedAt = startedAt
	}
}

/** Returns the state so far. Before the first failure it is the shared initial state, which is never changed. */
function retryState(call: Call, bound: BoundLayer<RetryLayer>): Readonly<RetryState> {
	const state = call.layerState(bound)
	return typeof state === 'number' ? INITIAL_STATE : state
}

const INITIAL_STATE = /* @__PURE__ */ new RetryState(0)

/** Returns the call's own state. Before the first failure, the number of the start is in its place. */
function ownState(call: Call, bound: BoundLayer<RetryLayer>): RetryState {
	const state = call.layerState(bound)
	if (typeof state !== 'number') return state
	const own = new RetryState(state)
	call.enterLayer(bound, own)
	return own
}

/** Returns true if a layer further in has decided that there is no further attempt. */
const isDecided = (stop: StopReason, { rare }: Call, { shouldRetry }: RetrySettings): boolean =>
	stop !== 'rejected' &&
	!isPassedOn(stop) &&
	// The operation may have handled the result of the inner call, so `shouldRetry` is asked.
	!(shouldRetry && stop === 'inner-retry' && rare?.innerFailure?.isResult)

function decide(call: Call, bound: BoundLayer<RetryLayer>): RetryDelay | StopReason | undefined {
	const { ok, value } = call
	const { settings } = bound.layer
	const { retryResult, budget } = settings
	if (ok && !retryResult && !budget) return undefined
	const { attempt, chargedFor, previousDelayMs = settings.baseDelayMs } = retryState(call, bound)
	const counted = countedRetries.of(call) ?? attempt
	const isPending = counted < 0
	if (ok) {
		if (!retryResult || !requireSync('retryResult', retryResult(value, attempt))) {
			if (budget && !isShared(budget, bound.next)) budget.recordOutcome(true, chargedFor)
			return undefined
		}
		recordAttempt(call, 'unwanted-result')
		if (call.isAborted) {
			// `retryResult` rejected the result, so the call ends with the caller's abort.
			call.ok = false
			call.value = call.options?.signal?.reason
			return call.cancelledBy
		}
	}
	if (isDeferredToOuter(call, bound)) return undefined
	const classification = ok ? undefined : call.classify(bound)
	const isNested = settings.shouldRetry && counted >= settings.maxRetries && hasRetry(call, bound.outer)
	const stop = call.isAborted
		? call.cancelledBy
		: stopReason(settings, attempt, value, classification, isNested, counted)
	// An operation that sees its signal aborted by the deadline reports only that it was cancelled.
	if (stop === 'cancelled') return call.cancelledBy ?? stop
	const isInferred = !ok && !stop && !settings.shouldRetry
	if (isInferred && findExhausted(value, ownState(call, bound).attemptStart)) return 'inner-retry'
	// An inner retry that passed the failure on has recorded it.
	if (
		budget &&
		!isPending &&
		stop !== 'permanent' &&
		!(isPassedOn(call.stop) && isShared(budget, bound.next))
	)
		budget.recordOutcome(false)
	// Checked before the wait is computed, because a call whose time is over must draw no random number,
	// whatever ended first in this instant.
	const over = stop ?? exceededLimit(call, bound)
	if (over) return over
	const { backoffAttempt } = bound.layer
	const step = backoffAttempt?.(call, attempt) ?? (isPending ? attempt : counted)
	const next = nextWait(
		settings,
		step,
		previousDelayMs,
		value,
		classification,
		bound.runtime,
		!!backoffAttempt,
	)
	const wait = isPending ? { ...next, delayMs: Math.max(next.delayMs, MIN_PENDING_MS) } : next
	if (wait.askedMs !== undefined && wait.askedMs > settings.maxRetryAfterMs) return 'retry-after'
	const passed = exceededLimit(call, bound, wait.delayMs)
	if (passed || !budget || isPending) return passed ?? wait
	const now = bound.runtime.now()
	if (!budget.canRetry(now, isTimeout(value))) return 'budget'
	budget.recordRetry(now, isTimeout(value))
	return wait
}

/** Returns true if an inner retry reports to the same budget. */
function isShared(budget: Budget, inner: BoundLayer | undefined): boolean {
	for (let bound = inner; bound; bound = bound.next)
		if (bound.layer instanceof RetryLayer && bound.layer.settings.budget === budget) return true
	return false
}

/**
 * Returns true if this retry leaves retrying to an outer one. By default the innermost retries, because it is
 * nearest the failure, unless one of them asks for the outermost.
 */
function isDeferredToOuter(call: Call, bound: BoundLayer<RetryLayer>): boolean {
	const isAsked =
		call.rare?.isDeferredToOuter ||
		isEdgeOnly(bound.layer.settings) ||
		hasRetry(call, bound.outer, isEdgeOnly)
	if (!isAsked || !hasRetry(call, bound.outer)) return false
	call.rareState.isDeferredToOuter = true
	return true
}

export const isEdgeOnly = ({ nested }: RetrySettings): boolean => nested === 'outermost'

/** True if a retry around this layer, in this call or a parent call, passes the test. */
export function hasRetry(
	call: Call,
	from: BoundLayer | undefined,
	test: (settings: RetrySettings) => boolean = () => true,
): boolean {
	for (let bound = from; bound; bound = bound.outer)
		if (bound.layer instanceof RetryLayer && test(bound.layer.settings)) return true
	const { parentCall } = call
	return parentCall !== undefined && hasRetry(parentCall, parentCall.current, test)
}

function scheduleRetry(call: Call, bound: BoundLayer<RetryLayer>, wait: RetryDelay): Step {
	const { onRetry, budget } = bound.layer.settings
	const { lastAttempt } = call
	const { delayMs, source } = wait
	const state = ownState(call, bound)
	state.attempt++
	const isCounted = (countedRetries.of(call) ?? 0) >= 0
	if (budget && isCounted) state.chargedFor = isTimeout(call.value) ? 'timeout' : 'failure'
	if (source === 'backoff') state.previousDelayMs = delayMs
	if (lastAttempt) {
		lastAttempt.delayMs = delayMs
		lastAttempt.delaySource = source
	}
	if (onRetry && call.ok)
		notify('onRetry', onRetry, undefined, state.attempt, delayMs, { result: call.value })
	else if (onRetry) notify('onRetry', onRetry, call.value, state.attempt, delayMs)
	notifyObserver(call, bound, wait)
	return call.wait(delayMs)
}

function notifyObserver(call: Call, bound: BoundLayer<RetryLayer>, wait?: RetryDelay): void {
	const { observer, emitsRoutine } = bound.layer
	const state = retryState(call, bound)
	// A call that stops with an unwanted result is `ok`.
	if (observer && (emitsRoutine || !call.ok || call.stop || state.attempt))
		notify('emitting an event', observer, call, bound, state, wait)
}

/**
 * No attempt starts that cannot finish: the limits are checked before the wait and, because timers may be
 * late, after it.
 */
function exceededLimit(call: Call, bound: BoundLayer<RetryLayer>, waitMs = 0): StopReason | undefined {
	if (waitMs >= (call.options?.deadline?.remainingMs ?? Infinity)) return 'deadline'
	// A call that began before there was a limit has no start.
	const { startedAt } = retryState(call, bound)
	if (startedAt === undefined) return undefined
	const leftMs = bound.layer.settings.maxElapsedMs - (bound.runtime.now() - startedAt)
	return waitMs > leftMs ? 'elapsed-limit' : undefined
}
