/**
 * One logical request: what is sent, whether it may be sent again, and its attempts. It is also the options object of its call, so that
 * the layers find it by the call without another allocation.
 */
import { Deadline } from '../../core/deadline/deadline.ts'
import type { Call } from '../../core/engine/call.ts'
import type { CallContext, CallOptions } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'
import { requireSync } from '../../core/engine/hooks.ts'
import { copyRecord, type StopReason } from '../../core/explain/record.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { addHeaders, copyHeaders, type HeaderSource, requestHeader } from '../headers/request-headers.ts'
import { readRetryAfter } from '../headers/retry-after.ts'
import { areRetriesExhausted } from '../headers/retry-headers.ts'
import { defaultTotalMs, type HttpSettings } from '../options/http-options.ts'
import type { AttemptRequest } from '../options/request-hooks.ts'
import type { RequestOptions } from '../options/request-options.ts'
import type { Origin } from '../origin/origin.ts'
import type { PausedRequest, Pauses } from '../origin/pauses.ts'
import { MAX_PAUSE_MS } from '../origin/quota.ts'
import { isIdempotentMethod, isSafeMethod } from '../transport/methods.ts'
import type { PreparedRequest } from '../transport/prepared-request.ts'
import { isRedirect, REDIRECT_OBSERVER } from '../transport/redirect.ts'
import {
	type BodySource,
	discardBody,
	isReplayable,
	isStream,
	type RequestBody,
} from '../transport/request-body.ts'
import { type HttpResponse, headersOf, isResponse, type TransportInit } from '../transport/transport.ts'
import { attemptHeaders } from './attempt-headers.ts'
import { isValid, runOnRequest, runOnResponse } from './attempt-hooks.ts'
import type { AttemptScope } from './attempt-scope.ts'
import { createBody } from './create-body.ts'
import { drainBody } from './drain-body.ts'
import type { HttpAttempt } from './http-attempt.ts'
import { limitBody } from './limit-body.ts'
import type { RedirectCircuits } from './redirect-circuits.ts'
import { idempotencyKeyOf, isUnprocessed } from './retry-safety.ts'
import { HttpStatusError, setMessage } from './status-error.ts'

/** Without a deadline and a total timeout: the default of the longest run of a request in `yaoki/idempotency`. */
const MAX_ASKED_MS = 600_000

export class HttpCall implements CallOptions, HttpAttempt {
	/** Also found in a copy of these options. */
	readonly extension: this = this
	readonly request: PreparedRequest
	/** Settings of the client. */
	readonly settings: HttpSettings
	readonly runtime: Runtime
	readonly requestOptions: RequestOptions
	readonly signal: AbortSignal | undefined
	readonly deadline: Deadline | undefined
	readonly name: string | undefined
	/** The key of the breaker, which is the origin by default; with `method`, for events. */
	key = ''
	readonly method: string
	/** For core: whether two concurrent requests are harmless (hedging): for safe methods, and where a service config says so. */
	readonly idempotent: boolean
	readonly parent: CallOptions | undefined
	/** Sent with every attempt; makes any request safe to retry. */
	readonly idempotencyKey: string | undefined
	/** True if the key is not yet in the caller's headers. */
	readonly isKeyAdded: boolean
	readonly timeoutMs: number
	/** `totalTimeoutMs`; undefined if the caller's deadline is earlier. */
	readonly totalTimeoutMs: number | undefined
	/** A copy of the caller's headers. */
	readonly headers: HeaderSource
	origin!: Origin
	/** The origin, unless `pauseScope` is another. */
	pauses!: Pauses
	/** The circuits of the redirects of this call. */
	redirects: RedirectCircuits | undefined
	/** The body of the latest attempt. */
	#body: BodySource
	/** True after the first attempt has been sent. */
	#isSent = false
	/** Attempts that asked for the result of an earlier one, and when the first of them was decided. */
	#questions = 0
	#askedSince: number | undefined
	/** Headers that an observer adds to the attempt that is about to start. */
	#observerHeaders: Readonly<Record<string, string>> | undefined
	/** Responses with a failed status. All but the final one are drained. */
	#failedResponses: HttpResponse[] | undefined

	constructor(
		request: PreparedRequest,
		options: RequestOptions,
		signal: AbortSignal | undefined,
		settings: HttpSettings,
		runtime: Runtime,
	) {
		const { timeout, deadline } = options
		// A longer attempt timeout for one request implies a longer total timeout, unless that was set explicitly.
		const totalMs =
			options.totalTimeoutMs ??
			(timeout === undefined || settings.isTotalGiven
				? settings.totalTimeoutMs
				: defaultTotalMs(timeout, settings))
		const leftMs = Math.max(0, totalMs - (request.spentMs ?? 0))
		const total = leftMs < Infinity ? Deadline.after(leftMs, { runtime }) : undefined
		const isCallersEarlier = deadline && !(total && total.remainingMs < deadline.remainingMs)
		const isSafe = isSafeMethod(request.method)
		const key = isSafe ? undefined : idempotencyKeyOf(request, options, settings)
		this.request = request
		this.settings = settings
		this.runtime = runtime
		this.requestOptions = options
		this.signal = signal
		this.deadline = isCallersEarlier ? deadline : total
		this.name = options.name
		this.method = request.method
		// A body that can be sent only once cannot be sent twice concurrently either.
		this.idempotent =
			isSafe && options.idempotent !== false && !request.isSingleUse && isReplayable(request.body)
		this.parent = options.parent ?? settings.getContext?.()
		this.idempotencyKey = key?.value
		this.isKeyAdded = key?.isAdded === true
		this.timeoutMs = timeout ?? settings.timeout
		this.totalTimeoutMs = isCallersEarlier ? undefined : totalMs
		this.headers = copyHeaders(request.headers)
	}

	get url(): string {
		return this.request.url
	}

	hasHeader(name: string): boolean {
		return requestHeader(this.headers, name) !== null
	}

	addHeaders(headers: Readonly<Record<string, string>>): void {
		this.#observerHeaders = { ...this.#observerHeaders, ...headers }
	}

	/** Runs one attempt. Returns a valid response with a status below 400; throws for anything else. */
	async attempt(context: CallContext): Promise<HttpResponse> {
		const { origin, pauses, request } = this
		const { body } = request
		const added = this.#observerHeaders
		this.#observerHeaders = undefined
		const scope = scopeOf(context)
		const signal = scope.connect()
		const { onRequest, onResponse, validateResponse, maxResponseBytes = Infinity } = origin.settings
		const given = typeof body === 'function' ? await createBody(body, signal) : body
		this.#body = given
		let init = this.#initFor(context, scope, signal, given, added)
		let hooked: AttemptRequest | undefined
		if (onRequest || onResponse || validateResponse) {
			const headers = new Headers(init.headers)
			init = { ...init, headers }
			const { url, method } = request
			hooked = { url, method, headers, body: given, attempt: context.attempt, signal }
			if (onRequest) await runOnRequest(onRequest, hooked, given !== body, scope)
		}
		this.#isSent = scope.isSent = true
		if (pauses !== origin) origin.inFlight++
		pauses.onRequest()
		let response: HttpResponse
		try {
			response = await request.send(request.url, init)
			if (!isResponse(response)) throw new TypeError('fetch returned something that is not a Response')
			if (request.follow && isRedirect(response.status))
				response = await request.follow(response, request.url, init)
		} finally {
			pauses.inFlight--
			if (pauses !== origin) origin.inFlight--
		}
		const received = response
		const respondent = scope.respondent(response)
		const isHandled = response.status !== 429 && response.status < 500
		// If another origin has responded, this one has sent a redirect.
		pauses.endProbe(this, respondent !== origin || isHandled)
		const responsible = respondent === origin ? pauses : pauses === origin ? respondent : undefined
		responsible?.endProbe(this, isHandled)
		responsible?.readQuota(response)
		// A `fetch` that ignores its signal may respond after the abort.
		if (signal.aborted) {
			void drainBody(response, this.runtime)
			throw signal.reason
		}
		const onBytes = scope.progressOf(response, request.reportProgress)
		response = limitBody(response, origin.name, maxResponseBytes, onBytes)
		let isInvalid = false
		if (hooked) {
			// Only `fetch` has these hooks, and it returns real responses.
			let real = response as Response
			if (onResponse) real = await runOnResponse(onResponse, real, hooked, scope, this.runtime)
			if (validateResponse && real.ok)
				isInvalid = !(await isValid(validateResponse, real, hooked, scope, this.runtime))
			response = real
		}
		if (request.finish && !isInvalid) response = await request.finish(response)
		if (!isInvalid && response.status < 400) return response
		this.#failedResponses ??= []
		this.#failedResponses.push(response)
		const { method, url } = request
		const paused = { method, url: respondent === origin ? url : response.url || url }
		const error = statusErrorOf(response, origin, this.idempotencyKey !== undefined, responsible, paused)
		// The `fetch` may be a resilient one with its own retries.
		copyRecord(received, error)
		if (isInvalid) setMessage(error, `${error.message}, but validateResponse returned false`)
		throw error
	}

	/** Ends the request body if the call was rejected before it was sent. A body that was sent belongs to `fetch`. */
	discardUnsentBody(reason: unknown): void {
		if (this.#isSent) return
		const { body, ownBody } = this.request
		if (typeof body !== 'function') discardBody(body, reason)
		discardBody(ownBody, reason)
	}

	/** Drains the responses that the caller does not receive: those before a retry, and those of hedges that lost. */
	drainAllExcept(final: unknown): void {
		const failed = this.#failedResponses
		if (!failed) return
		for (const response of failed.splice(0))
			if (response === final) failed.push(response)
			else void drainBody(response, this.runtime)
	}

	/**
	 * Returns how many retries count so far; -1 if the request may ask for the result of an attempt in progress, which does not count. Not if
	 * it must be sent only once (`maxRetries: 0`). Without a deadline the questions must end too.
	 */
	countRetries({ attempt, options }: Call, isInProgress: boolean): number {
		const { settings, requestOptions } = this
		const { maxRetries = settings.maxRetries } = requestOptions
		if (isInProgress && maxRetries > 0) {
			const now = this.runtime.now()
			this.#askedSince ??= now
			if (options?.deadline || now - this.#askedSince < MAX_ASKED_MS) {
				this.#questions++
				return -1
			}
		}
		return attempt - this.#questions
	}

	/** Returns why HTTP forbids a retry after this error, or undefined if it does not. `retries` count so far. */
	retryBlocker(error: unknown, retries: number, scope: AttemptScope): StopReason | undefined {
		const { requestOptions, settings, request, idempotencyKey } = this
		const { maxRetries = Infinity, idempotent } = requestOptions
		if (retries >= settings.maxRetries) return undefined
		if (retries >= maxRetries) return 'retries-exhausted'
		const veto = this.findVeto(error)
		if (veto) return veto
		const hasKey = idempotencyKey !== undefined && !scope.isKeyLost
		const isRepeatable =
			idempotent ?? (hasKey || isIdempotentMethod(request.method) || this.#isDeclaredIdempotent)
		// The server that sent a redirect has seen the request. A timeout may expire before anything is sent.
		const hasArrived = scope.hasResponse || scope.redirectedTo !== undefined
		const mayBeProcessed = scope.isSent && (hasArrived || !isUnprocessed(error))
		if (!isRepeatable && mayBeProcessed) return 'not-idempotent'
		const isBodySent = this.#isSent && (request.isSingleUse || !isReplayable(request.body))
		return isBodySent ? 'body-used' : undefined
	}

	/** Returns how the response says that it does not want a retry, or undefined if it does not. */
	findVeto(error: unknown): StopReason | undefined {
		if (!(error instanceof HttpStatusError)) return undefined
		const headers = headersOf(error.response)
		if (areRetriesExhausted(headers)) return 'inner-retry'
		for (const [name, value] of this.settings.vetoes)
			if (headers.get(name)?.trim().toLowerCase() === value) return 'server-veto'
		return HttpStatusError.factsOf(error).isTooLong ? 'retry-after' : undefined
	}

	/** True if the user's function says that the request may be sent twice. */
	get #isDeclaredIdempotent(): boolean {
		const { url, method } = this.request
		const { idempotent } = this.settings
		if (!idempotent) return false
		const request = { url, method, headers: new Headers(this.headers), body: this.#body }
		return requireSync('idempotent', idempotent(request))
	}

	#initFor(
		context: CallContext,
		scope: AttemptScope,
		signal: AbortSignal,
		body: RequestBody,
		added: Readonly<Record<string, string>> | undefined,
	): TransportInit {
		const { method, init, follow } = this.request
		const own = attemptHeaders(this, context)
		const extra = added ? { ...added, ...own } : own
		const headers = extra ? addHeaders(this.headers, extra) : this.headers
		const redirect = follow ? 'manual' : init?.redirect
		const common = { method, headers, body, signal, redirect, [REDIRECT_OBSERVER]: scope }
		// A copy costs several objects, and few requests have an init.
		const sent = init ? { ...init, ...common } : common
		// The platform's types do not know bodies that some runtimes accept, such as async iterables.
		const final: unknown = isStream(body) ? { ...sent, duplex: 'half' } : sent
		return final as TransportInit
	}
}

/** Creates the error for a failed status. If the response has a Retry-After, pauses the origin or the principal. */
function statusErrorOf(
	response: HttpResponse,
	{ settings, runtime }: Origin,
	hasIdempotencyKey: boolean,
	responsible: Pauses | undefined,
	request: PausedRequest,
): HttpStatusError {
	const { maxRetryAfterMs, longRetryAfter } = settings
	const { status } = response
	const retryAfterMs = readRetryAfter(headersOf(response), runtime.wallNow())
	const isLong = retryAfterMs !== undefined && retryAfterMs > maxRetryAfterMs
	const isInProgress = status === 409 && hasIdempotencyKey && retryAfterMs !== undefined
	if (retryAfterMs === undefined || (isLong && longRetryAfter === 'ignore'))
		return new HttpStatusError(response, { isInProgress })
	const isTooLong = isLong && longRetryAfter === 'fail'
	if (status === 429 || status >= 500)
		responsible?.pause(Math.min(retryAfterMs, isTooLong ? MAX_PAUSE_MS : maxRetryAfterMs), status, request)
	const waitMs = isTooLong ? retryAfterMs : Math.min(retryAfterMs, maxRetryAfterMs)
	return new HttpStatusError(response, { retryAfterMs, waitMs, isTooLong, isInProgress })
}

/** Returns the attempt that starts with this context. Each request of a hedge is its own call. */
const scopeOf = (context: CallContext): AttemptScope =>
	(Context.callOf(context as Context) as Call).scope as AttemptScope
