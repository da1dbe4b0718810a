/**
 * The innermost layer of every request: waits while the origin is paused, applies the attempt timeout, and decides after a failure whether
 * HTTP allows a retry. One layer for all three, because each layer adds cost to every request.
 */
import type { BoundLayer, Call } from '../../core/engine/call.ts'
import { requireSync } from '../../core/engine/hooks.ts'
import { runPending } from '../../core/engine/interruptible-runner.ts'
import { GO, type Step } from '../../core/engine/layer.ts'
import type { Emit, ObservableLayer } from '../../core/engine/policy.ts'
import { DeadlineExceededError, RateLimitedError, TimeoutError } from '../../core/errors/errors.ts'
import { attachRecord } from '../../core/explain/record.ts'
import { addRetryAfterJitter } from '../../core/retry/retry-after.ts'
import { sleep } from '../../core/runtime/sleep.ts'
import { isOffline } from '../origin/connectivity.ts'
import type { Origin } from '../origin/origin.ts'
import type { PausedRequest, Pauses } from '../origin/pauses.ts'
import { type HttpResponse, isObservable } from '../transport/transport.ts'
import { type AttemptOwner, AttemptScope, attemptOf } from './attempt-scope.ts'
import type { TimeoutLists } from './attempt-timeouts.ts'
import type { HttpCall } from './http-call.ts'
import { RedirectCircuits } from './redirect-circuits.ts'
import { HttpStatusError, isInProgressError } from './status-error.ts'
import { trackBody } from './track-body.ts'

export class AttemptLayer implements ObservableLayer, AttemptOwner {
	/** A request is always pending after a microtask, so core's other runner would check unnecessarily. */
	readonly runner: typeof runPending = runPending
	readonly origin: Origin
	emit: Emit | undefined
	readonly #timeouts: TimeoutLists

	constructor(origin: Origin, timeouts: TimeoutLists) {
		this.origin = origin
		this.#timeouts = timeouts
	}

	enter(call: Call, bound: BoundLayer): Step {
		const { pauses, request } = httpCallOf(call)
		if (!pauses.mayBePaused) return this.#start(call, bound)
		const wait = this.#waitFor(call, bound, pauses, request, call.now(bound.runtime))
		if (wait instanceof Error) return call.reject(wait)
		if (wait === 0) return this.#start(call, bound)
		call.enterLayer(bound)
		return wait
	}

	enterRedirect(
		call: Call,
		scope: AttemptScope,
		url: string,
		signal: AbortSignal | undefined,
	): Promise<void> | undefined {
		const { origin } = this
		const { bound } = scope
		const { runtime } = bound
		const http = httpCallOf(call)
		http.redirects ??= new RedirectCircuits()
		const [target, pair] = origin.others.redirectCircuits(http.request, url)
		scope.redirect = http.redirects.enter(call, bound, target, pair)
		const other = http.pauses === origin ? origin.respondent(scope.redirectedTo) : undefined
		if (!other?.mayBePaused) return undefined
		const now = runtime.now()
		// A timeout during the pause would be taken for one of the other origin.
		const leftMs = signal ? http.timeoutMs - now + (scope.startedAt ?? now) : 0
		const wait = this.#waitFor(call, bound, other, { method: http.method, url }, now, other.name, leftMs)
		if (wait instanceof Error) throw wait
		// Once: an attempt that waits again and again would time out.
		return wait ? sleep(runtime, wait, signal).then(() => signal?.throwIfAborted()) : undefined
	}

	/** Checks again, because the origin may have extended its pause. With `'clamp'` a call waits only once. */
	resume(call: Call, bound: BoundLayer): Step {
		call.startedAt = call.pipeline.runtime.now()
		return this.origin.settings.longRetryAfter === 'clamp'
			? this.#start(call, bound)
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
			scope.timeouts = this.#timeouts.get(timeoutMs, runtime)
			scope.timeouts.start(scope, call.now(runtime))
		}
	}

	leave(call: Call, bound: BoundLayer): Step {
		const scope = call.layerState(bound)
		if (!(scope instanceof AttemptScope)) return GO
		if (scope.outer) call.scope = scope.outer
		scope.onHead()
		const { ok, value } = call
		const response = ok ? value : value instanceof HttpStatusError ? value.response : undefined
		if (response) observeBody(response as HttpResponse, scope)
		else scope.release()
		if (!ok) this.#onFailure(call, bound, scope)
		else if (scope.redirect) scope.redirect.result = true
		return GO
	}

	#start(call: Call, bound: BoundLayer): Step {
		const scope = new AttemptScope(call, bound, this)
		call.scope = scope
		return call.enterLayer(bound, scope)
	}

	/** Returns how long a request has to wait, 0 if it may be sent now, or the error if it cannot wait that long. */
	#waitFor(
		call: Call,
		bound: BoundLayer,
		pauses: Pauses,
		request: PausedRequest,
		now: number,
		name: string = this.origin.name,
		attemptLeftMs: number = Infinity,
	): number | RateLimitedError {
		const { longRetryAfter, maxRetryAfterMs } = this.origin.settings
		const blocker = pauses.blockerOf(request, now)
		const pauseMs = blocker.waitMs(now)
		if (pauseMs === 0) return 0
		const probeInMs = blocker.probeInMs(now)
		if (probeInMs === 0) {
			blocker.startProbe(httpCallOf(call), now)
			return 0
		}
		const isLong = pauseMs > maxRetryAfterMs
		if (isLong && longRetryAfter === 'ignore') return 0
		// Jitter on top of the cap too, or all callers with a longer pause would come back together.
		const waitMs = addRetryAfterJitter(Math.min(pauseMs, maxRetryAfterMs), bound.runtime)
		const leftMs = Math.min(call.options?.deadline?.remainingMs ?? Infinity, attemptLeftMs)
		if ((isLong && longRetryAfter === 'fail') || waitMs >= leftMs) {
			const retryAfterMs = Math.ceil(pauseMs)
			this.emit?.(call, bound, { type: 'rejected', reason: 'rate-limited', retryAfterMs })
			const remainingMs = waitMs >= leftMs ? Math.floor(leftMs) : undefined
			const why = blocker.describe(retryAfterMs, now)
			return new RateLimitedError(name, retryAfterMs, call.pipeline.name, remainingMs, why)
		}
		// The next probe may end the pause. With `'clamp'` a call does not check again after its wait.
		const isProbedFirst = probeInMs < pauseMs && longRetryAfter !== 'clamp'
		return isProbedFirst ? addRetryAfterJitter(probeInMs, bound.runtime) : waitMs
	}

	#onFailure(call: Call, bound: BoundLayer, scope: AttemptScope): void {
		const { rareState } = call
		rareState.keepsRecord = true
		const http = httpCallOf(call)
		const isInProgress = isInProgressError(call.value)
		if (!(call.value instanceof HttpStatusError)) this.origin.watchConnection()
		rareState.circuitOutcome =
			scope.isForeign || isInProgress ? 'success' : isOffline() ? 'nothing' : undefined
		rareState.countedRetries = http.countRetries(call, isInProgress)
		if (call.isAborted || (call.stop && !scope.hasHookThrown)) return
		const { kind } = call.classify(bound)
		if (scope.hasHookThrown) {
			call.stop = 'hook-threw'
			return
		}
		const { redirect } = scope
		if (redirect && kind !== 'cancelled') {
			const isFailure = requireSync('isFailure', redirect.isFailure?.(call.value)) ?? kind !== 'permanent'
			redirect.result = isFailure ? call.value : true
		}
		// The user's shouldRetry may retry permanent errors, but never a request that is unsafe to retry.
		if (kind === 'cancelled' || (kind === 'permanent' && !http.settings.shouldRetry)) return
		call.stop = http.retryBlocker(call.value, rareState.countedRetries, scope)
	}

	createTimeoutError(call: Call, bound: BoundLayer, isTotal: boolean, isUnread: boolean): unknown {
		const { timeoutMs, totalTimeoutMs, deadline } = httpCallOf(call)
		const { name } = this.origin
		// The deadline of the caller or of the parent call was earlier.
		if (isTotal && (totalTimeoutMs === undefined || deadline !== call.options?.deadline))
			return new DeadlineExceededError(`${name}: deadline exceeded`)
		const ms = isTotal ? (totalTimeoutMs ?? timeoutMs) : timeoutMs
		// A caller that needs only the status does not read the body. That is not a timeout of the service.
		if (!isUnread) this.emit?.(call, bound, { type: 'timeout', timeoutMs: ms })
		return new TimeoutError(name, ms, call.pipeline.name)
	}
}

/** Extends the scope until the body has been read. */
function observeBody(response: HttpResponse, scope: AttemptScope): void {
	// The response may come from another resilient fetch; its body now belongs to this call.
	attemptOf(response)?.onHandOver()
	attachRecord(response, scope)
	scope.extend(response)
	if (isObservable(response)) response.observe(scope)
	else if (response.body) trackBody(response, attemptOf)
	else scope.release()
}

/** Lets `explain` find the whole call by the response, and not the branch of a hedge that won. */
export function attributeResponse(response: HttpResponse, call: Call): void {
	const attempt = attemptOf(response)
	if (attempt) attempt.call = call
}

/** Returns the HttpCall of a call: the engine creates all calls of this layer. */
export const httpCallOf = (call: Call): HttpCall => (call.options as HttpCall).extension
