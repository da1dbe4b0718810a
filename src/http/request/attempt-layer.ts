/**
 * The innermost layer of every request: waits while the origin is paused, applies the attempt timeout, and
 * decides after a failure whether HTTP allows a retry. One layer for all three, because each layer adds cost
 * to every request.
 */
import { circuitOutcome } from '../../core/circuit-breaker/layer.ts'
import type { BoundLayer, Call } from '../../core/engine/call.ts'
import { runPending } from '../../core/engine/interruptible-runner.ts'
import type { Step } from '../../core/engine/layer.ts'
import type { Emit, ObservableLayer } from '../../core/engine/policy.ts'
import { DeadlineExceededError, RateLimitedError, TimeoutError } from '../../core/errors/errors.ts'
import { requireSync } from '../../core/options/hooks.ts'
import { addRetryAfterJitter } from '../../core/retry/decision.ts'
import { countedRetries } from '../../core/retry/layer.ts'
import { sleep } from '../../core/runtime/sleep.ts'
import type { Origin, PausedRequest, Pauses } from '../origin/origin.ts'
import { isOffline } from '../transport/browser.ts'
import type { HttpResponse } from '../transport/response.ts'
import { Attempt, type AttemptOwner } from './attempt.ts'
import { AttemptTimeout, type TimeoutLists } from './attempt-aborts.ts'
import { RedirectCircuits } from './redirect-circuits.ts'
import { runOf } from './request-run.ts'
import { retryBlocker } from './retry-safety.ts'
import { HttpStatusError, isInProgressError } from './status-error.ts'

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
		const { pauses, plan } = runOf(call)
		if (!pauses.mayBePaused) return this.#start(call, bound)
		const wait = this.#waitFor(call, bound, pauses, plan.request, call.now(bound.runtime))
		if (wait instanceof Error) return call.reject(wait)
		if (wait === 0) return this.#start(call, bound)
		call.enterLayer(bound)
		return call.wait(wait)
	}

	enterRedirect(attempt: Attempt, url: string, signal: AbortSignal | undefined): Promise<void> | undefined {
		const { origin } = this
		const { call, bound } = attempt
		const { runtime } = bound
		const run = runOf(call)
		const { request, timeoutMs } = run.plan
		run.redirects ??= new RedirectCircuits()
		const [target, pair] = origin.owner.redirectCircuits(request, url)
		attempt.redirect = run.redirects.enter(call, bound, target, pair)
		const other = run.pauses === origin ? origin.respondent(attempt.redirectedTo) : undefined
		if (!other?.mayBePaused) return undefined
		const now = runtime.now()
		// A timeout during the pause would be taken for one of the other origin.
		const leftMs = signal ? timeoutMs - now + (attempt.timeout?.startedAt ?? now) : 0
		const wait = this.#waitFor(call, bound, other, { ...request, url }, now, other.name, leftMs)
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
		const attempt = call.layerState(bound)
		if (attempt instanceof Attempt && !attempt.timeout)
			attempt.timeout = new AttemptTimeout(attempt, runOf(call).plan.timeoutMs, this.#timeouts)
	}

	leave(call: Call, bound: BoundLayer): Step {
		const attempt = call.layerState(bound)
		if (!(attempt instanceof Attempt)) return 'continue'
		if (attempt.outer) call.scope = attempt.outer
		const { ok, value } = call
		const response = ok ? value : value instanceof HttpStatusError ? value.response : undefined
		attempt.onHead(response as HttpResponse | undefined)
		if (!ok) this.#onFailure(call, bound, attempt)
		else if (attempt.redirect) attempt.redirect.result = true
		return 'continue'
	}

	#start(call: Call, bound: BoundLayer): Step {
		const attempt = new Attempt(call, bound, this)
		call.scope = attempt
		return call.enterLayer(bound, attempt)
	}

	/** Returns how long a request has to wait, 0 if it may be sent now, or the error if it cannot wait. */
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
			blocker.startProbe(runOf(call), now)
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

	#onFailure(call: Call, bound: BoundLayer, attempt: Attempt): void {
		call.rareState.keepsRecord = true
		const run = runOf(call)
		const isInProgress = isInProgressError(call.value)
		if (!(call.value instanceof HttpStatusError)) this.origin.owner.watchConnection()
		const isServiceUp = attempt.isForeign || isInProgress
		circuitOutcome.set(call, isServiceUp ? 'success' : isOffline() ? 'nothing' : undefined)
		const counted = run.countRetries(call, isInProgress)
		countedRetries.set(call, counted)
		if (call.isAborted || (call.stop && !attempt.hasHookThrown)) return
		const { kind } = call.classify(bound)
		if (attempt.hasHookThrown) {
			call.stop = 'hook-threw'
			return
		}
		const { redirect } = attempt
		if (redirect && kind !== 'cancelled') {
			const isFailure = requireSync('isFailure', redirect.isFailure?.(call.value)) ?? kind !== 'permanent'
			redirect.result = isFailure ? call.value : true
		}
		// The user's shouldRetry may retry permanent errors, but never a request that is unsafe to retry.
		if (kind === 'cancelled' || (kind === 'permanent' && !run.plan.settings.shouldRetry)) return
		call.stop = retryBlocker(run, attempt, call.value, counted)
	}

	createTimeoutError({ call, bound }: Attempt, isTotal: boolean, isUnread: boolean): unknown {
		const { timeoutMs, totalTimeoutMs, deadline } = runOf(call).plan
		const { name } = this.origin
		const totalMs = deadline === call.options?.deadline ? totalTimeoutMs : undefined
		const ms = isTotal ? totalMs : timeoutMs
		// The deadline of the caller or of the parent call was earlier.
		if (ms === undefined) return new DeadlineExceededError(`${name}: deadline exceeded`)
		// A caller that needs only the status does not read the body. That is not a timeout of the service.
		if (!isUnread) this.emit?.(call, bound, { type: 'timeout', timeoutMs: ms })
		return new TimeoutError(name, ms, call.pipeline.name)
	}
}
