/**
 * The innermost layer of every request: waits while the origin asked to be left alone, gives the attempt its time, and says
 * after a failure whether the request may be sent again. One layer for the three, since every layer costs every request.
 */
import type { Call, Seat } from '../../core/engine/call.ts'
import { GO, type Step } from '../../core/engine/layer.ts'
import type { Tell, TellingLayer } from '../../core/engine/leaf-policy.ts'
import { DeadlineExceededError, RateLimitedError, TimeoutError } from '../../core/errors/errors.ts'
import { recall, remember } from '../../core/explain/record.ts'
import type { Origin } from '../origin/origin.ts'
import { addJitter } from '../origin/origin-pause.ts'
import { type BodyObserver, type HttpResponse, isObservable } from '../transport/transport.ts'
import { AttemptScope, releaseBody, type TimedOut } from './attempt-scope.ts'
import type { TimeoutLists } from './attempt-timeouts.ts'
import { httpCallOf } from './http-call.ts'
import { LazyAbortSignal } from './lazy-abort-signal.ts'
import { runPending } from './run-pending.ts'
import { HttpStatusError } from './status-error.ts'
import { trackBody } from './track-body.ts'

export class AttemptLayer implements TellingLayer {
	readonly drive: typeof runPending = runPending
	readonly origin: Origin
	tell: Tell | undefined
	/** Of all origins together: lists of an origin would outlive it. */
	readonly #limits: TimeoutLists

	constructor(origin: Origin, limits: TimeoutLists) {
		this.origin = origin
		this.#limits = limits
	}

	enter(call: Call, seat: Seat): Step {
		const waitMs = this.origin.isHeld ? this.origin.waitMs(call.now(seat.runtime)) : 0
		return waitMs > 0 ? this.#hold(call, seat, waitMs) : this.#begin(call, seat)
	}

	/** Others may have been let in before it, or the origin asked for more time meanwhile. */
	resume(call: Call, seat: Seat): Step {
		call.startedAt = call.plan.runtime.now()
		return this.origin.settings.longRetryAfter === 'clamp' ? this.#begin(call, seat) : this.enter(call, seat)
	}

	linger(call: Call, seat: Seat): void {
		const scope = call.kept(seat)
		if (!(scope instanceof AttemptScope) || scope.list || scope.timer) return
		const { timeoutMs } = httpCallOf(call)
		const { runtime } = seat
		const leftMs = call.options?.deadline?.remainingMs ?? Infinity
		if (leftMs < timeoutMs) scope.timer = runtime.setTimer(leftMs, () => scope.expire(), 'limit')
		else if (timeoutMs < Infinity) {
			scope.limits = this.#limits.of(timeoutMs, runtime)
			scope.limits.begin(scope, call.now(runtime))
		}
	}

	leave(call: Call, seat: Seat): Step {
		const scope = call.kept(seat)
		if (!(scope instanceof AttemptScope)) return GO
		if (scope.within) call.scope = scope.within
		scope.headEnded()
		const { ok, value } = call
		const response = ok ? value : value instanceof HttpStatusError ? value.response : undefined
		if (response) follow(response as HttpResponse, scope)
		else scope.release()
		if (!ok) this.#failed(call, seat)
		return GO
	}

	#begin(call: Call, seat: Seat): Step {
		const { scope: around } = call
		const scope = new AttemptScope(call, seat, this.#timedOut)
		// What can be aborted from around, as a branch of a hedge can, is tied to that as everywhere else.
		if (!around.abortsItself) scope.tie = new LazyAbortSignal()
		call.scope = scope
		return call.visit(seat, scope)
	}

	#hold(call: Call, seat: Seat, askedMs: number): Step {
		const { name, settings } = this.origin
		const { longRetryAfter, maxRetryAfterMs } = settings
		const isLong = askedMs > maxRetryAfterMs
		if (isLong && longRetryAfter === 'ignore') return this.#begin(call, seat)
		// The longest wait has its share of chance as well, or all who were told to wait for that long would come at once.
		const waitMs = addJitter(Math.min(askedMs, maxRetryAfterMs), seat.runtime)
		const leftMs = call.options?.deadline?.remainingMs ?? Infinity
		if ((isLong && longRetryAfter === 'fail') || waitMs >= leftMs) {
			const retryAfterMs = Math.ceil(askedMs)
			this.tell?.(call, seat, { type: 'rejected', reason: 'rate-limited', retryAfterMs })
			return call.refuse(new RateLimitedError(name, retryAfterMs))
		}
		call.visit(seat)
		return waitMs
	}

	#failed(call: Call, seat: Seat): void {
		call.extra.isSettled = true
		if (call.stop || call.isAborted) return
		const { kind } = call.judge(seat)
		const { hasOwnRule } = this.origin.settings
		// Who has a rule of their own may want to repeat what is permanent otherwise; never what must not be done twice.
		if (kind === 'cancelled' || (kind === 'permanent' && !hasOwnRule)) return
		call.stop = httpCallOf(call).retryBlocker(call.value, call.attempt)
	}

	readonly #timedOut: TimedOut = (call, seat, isWhole) => {
		const { timeoutMs, totalMs, deadline } = httpCallOf(call)
		const { name } = this.origin
		// The caller's own deadline, or that of what the call is part of, was the earlier one.
		if (isWhole && (totalMs === undefined || deadline !== call.options?.deadline))
			return new DeadlineExceededError()
		const ms = isWhole ? (totalMs ?? timeoutMs) : timeoutMs
		this.tell?.(call, seat, { type: 'timeout', timeoutMs: ms })
		return new TimeoutError(name, ms)
	}
}

/** From here on the scope lasts until the body has been read. */
function follow(response: HttpResponse, scope: AttemptScope): void {
	// Of a response that came through another engine the body is this one's from now on.
	releaseBody(response)
	remember(response, scope)
	scope.response = response
	if (isObservable(response)) response.observe(scope)
	else if (response.body) trackBody(response, followerOf)
	else scope.release()
}

const followerOf = (response: object): BodyObserver | undefined => {
	const record = recall(response)
	return record instanceof AttemptScope ? record : undefined
}

/** The whole call is what `explain` tells of, and not the branch of a hedge that won. */
export function attributeResponse(response: HttpResponse, call: Call): void {
	const record = recall(response)
	if (record instanceof AttemptScope) record.call = call
}
