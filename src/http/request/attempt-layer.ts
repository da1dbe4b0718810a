/**
 * The innermost layer of every request: waits while the origin asked to be left alone, gives the attempt its time, and says
 * after a failure whether the request may be sent again. One layer for the three, since every layer costs every request.
 */
import type { BoundLayer, Call } from '../../core/engine/call.ts'
import { GO, type Step } from '../../core/engine/layer.ts'
import type { Emit, ObservableLayer } from '../../core/engine/policy.ts'
import { DeadlineExceededError, RateLimitedError, TimeoutError } from '../../core/errors/errors.ts'
import { attachRecord, findRecord } from '../../core/explain/record.ts'
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

export class AttemptLayer implements ObservableLayer {
	readonly runner: typeof runPending = runPending
	readonly origin: Origin
	emit: Emit | undefined
	/** Of all origins together: lists of an origin would outlive it. */
	readonly #limits: TimeoutLists

	constructor(origin: Origin, limits: TimeoutLists) {
		this.origin = origin
		this.#limits = limits
	}

	enter(call: Call, bound: BoundLayer): Step {
		const waitMs = this.origin.isHeld ? this.origin.waitMs(call.now(bound.runtime)) : 0
		return waitMs > 0 ? this.#hold(call, bound, waitMs) : this.#begin(call, bound)
	}

	/** Others may have been let in before it, or the origin asked for more time meanwhile. */
	resume(call: Call, bound: BoundLayer): Step {
		call.startedAt = call.pipeline.runtime.now()
		return this.origin.settings.longRetryAfter === 'clamp'
			? this.#begin(call, bound)
			: this.enter(call, bound)
	}

	onPending(call: Call, bound: BoundLayer): void {
		const scope = call.layerState(bound)
		if (!(scope instanceof AttemptScope) || scope.list || scope.timer) return
		const { timeoutMs } = httpCallOf(call)
		const { runtime } = bound
		const leftMs = call.options?.deadline?.remainingMs ?? Infinity
		if (leftMs < timeoutMs) scope.timer = runtime.setTimer(leftMs, () => scope.expire(), 'limit')
		else if (timeoutMs < Infinity) {
			scope.limits = this.#limits.of(timeoutMs, runtime)
			scope.limits.begin(scope, call.now(runtime))
		}
	}

	leave(call: Call, bound: BoundLayer): Step {
		const scope = call.layerState(bound)
		if (!(scope instanceof AttemptScope)) return GO
		if (scope.within) call.scope = scope.within
		scope.headEnded()
		const { ok, value } = call
		const response = ok ? value : value instanceof HttpStatusError ? value.response : undefined
		if (response) follow(response as HttpResponse, scope)
		else scope.release()
		if (!ok) this.#failed(call, bound)
		return GO
	}

	#begin(call: Call, bound: BoundLayer): Step {
		const { scope: around } = call
		const scope = new AttemptScope(call, bound, this.#timedOut)
		// What can be aborted from around, as a branch of a hedge can, is tied to that as everywhere else.
		if (!around.abortsItself) scope.link = new LazyAbortSignal()
		call.scope = scope
		return call.enterLayer(bound, scope)
	}

	#hold(call: Call, bound: BoundLayer, askedMs: number): Step {
		const { name, settings } = this.origin
		const { longRetryAfter, maxRetryAfterMs } = settings
		const isLong = askedMs > maxRetryAfterMs
		if (isLong && longRetryAfter === 'ignore') return this.#begin(call, bound)
		// The longest wait has its share of chance as well, or all who were told to wait for that long would come at once.
		const waitMs = addJitter(Math.min(askedMs, maxRetryAfterMs), bound.runtime)
		const leftMs = call.options?.deadline?.remainingMs ?? Infinity
		if ((isLong && longRetryAfter === 'fail') || waitMs >= leftMs) {
			const retryAfterMs = Math.ceil(askedMs)
			this.emit?.(call, bound, { type: 'rejected', reason: 'rate-limited', retryAfterMs })
			return call.reject(new RateLimitedError(name, retryAfterMs))
		}
		call.enterLayer(bound)
		return waitMs
	}

	#failed(call: Call, bound: BoundLayer): void {
		call.rareState.keepsRecord = true
		if (call.stop || call.isAborted) return
		const { kind } = call.classify(bound)
		const { hasOwnRule } = this.origin.settings
		// Who has a rule of their own may want to repeat what is permanent otherwise; never what must not be done twice.
		if (kind === 'cancelled' || (kind === 'permanent' && !hasOwnRule)) return
		call.stop = httpCallOf(call).retryBlocker(call.value, call.attempt)
	}

	readonly #timedOut: TimedOut = (call, bound, isWhole) => {
		const { timeoutMs, totalMs, deadline } = httpCallOf(call)
		const { name } = this.origin
		// The caller's own deadline, or that of what the call is part of, was the earlier one.
		if (isWhole && (totalMs === undefined || deadline !== call.options?.deadline))
			return new DeadlineExceededError()
		const ms = isWhole ? (totalMs ?? timeoutMs) : timeoutMs
		this.emit?.(call, bound, { type: 'timeout', timeoutMs: ms })
		return new TimeoutError(name, ms)
	}
}

/** From here on the scope lasts until the body has been read. */
function follow(response: HttpResponse, scope: AttemptScope): void {
	// Of a response that came through another engine the body is this one's from now on.
	releaseBody(response)
	attachRecord(response, scope)
	scope.response = response
	if (isObservable(response)) response.observe(scope)
	else if (response.body) trackBody(response, followerOf)
	else scope.release()
}

const followerOf = (response: object): BodyObserver | undefined => {
	const record = findRecord(response)
	return record instanceof AttemptScope ? record : undefined
}

/** The whole call is what `explain` tells of, and not the branch of a hedge that won. */
export function attributeResponse(response: HttpResponse, call: Call): void {
	const record = findRecord(response)
	if (record instanceof AttemptScope) record.call = call
}
