/**
 * The run of a request plan: its attempts, and what has happened in them so far. `attempt` shows the five
 * steps of an attempt in their order: prepare, send, attribute, limit, judge.
 */
import type { Call } from '../../core/engine/call.ts'
import type { CallContext } from '../../core/engine/call-options.ts'
import { copyRecord } from '../../core/explain/record.ts'
import { requestHeader } from '../headers/request-headers.ts'
import type { Origin, Pauses } from '../origin/origin.ts'
import { MAX_PAUSE_MS } from '../origin/quota.ts'
import { type BodySource, discardBody } from '../transport/request.ts'
import { type HttpResponse, isRedirect, isResponse } from '../transport/response.ts'
import { Attempt } from './attempt.ts'
import { AttemptHooks, createBody } from './attempt-hooks.ts'
import { drainBody } from './drain-body.ts'
import type { HttpAttempt } from './http-attempt.ts'
import { limitBody } from './limit-body.ts'
import type { RedirectCircuits } from './redirect-circuits.ts'
import type { RequestPlan } from './request-plan.ts'
import { HttpStatusError, isUnavailable, readStatusFacts, setMessage } from './status-error.ts'

/** The limit without a deadline: the default of the longest run of a request in `yaoki/idempotency`. */
const MAX_ASKED_MS = 600_000

export class RequestRun implements HttpAttempt {
	readonly plan: RequestPlan
	readonly origin: Origin
	/** The origin, unless `pauseScope` is another. */
	readonly pauses: Pauses
	/** The circuits of the redirects of this call. */
	redirects: RedirectCircuits | undefined
	/** The body of the latest attempt. */
	body: BodySource
	/** True after the first attempt has been sent. */
	isSent = false
	/** Attempts that asked for the result of an earlier one, and when the first of them was decided. */
	#questions = 0
	#askedSince: number | undefined
	/** Headers that an observer adds to the attempt that is about to start. */
	#observerHeaders: Readonly<Record<string, string>> | undefined
	/** Responses with a failed status. All but the final one are drained. */
	#failedResponses: HttpResponse[] | undefined

	constructor(plan: RequestPlan, origin: Origin, pauses: Pauses = origin) {
		this.plan = plan
		this.origin = origin
		this.pauses = pauses
	}

	get method(): string {
		return this.plan.request.method
	}

	get url(): string {
		return this.plan.request.url
	}

	hasHeader(name: string): boolean {
		return requestHeader(this.plan.headers, name) !== null
	}

	addHeaders(headers: Readonly<Record<string, string>>): void {
		this.#observerHeaders = { ...this.#observerHeaders, ...headers }
	}

	/**
	 * Runs one attempt. Returns a valid response with a status below 400; throws for anything else. Mostly only
	 * the response is awaited. Async functions for the steps would cost every request a promise per step.
	 */
	async attempt(context: CallContext): Promise<HttpResponse> {
		const { plan, origin, pauses } = this
		const { request } = plan
		const { runtime, settings } = origin
		const attempt = Attempt.of(context)
		// 1. Prepare
		const added = this.#observerHeaders
		this.#observerHeaders = undefined
		const signal = attempt.connect()
		const body = typeof request.body === 'function' ? await createBody(request.body, signal) : request.body
		this.body = body
		let init = plan.initOf(context, origin, signal, body, attempt, added)
		let hooks: AttemptHooks | undefined
		if (settings.onRequest || settings.onResponse || settings.validateResponse) {
			const headers = new Headers(init.headers)
			init = { ...init, headers }
			const { url, method } = request
			const seen = { url, method, headers, body, attempt: context.attempt, signal }
			hooks = new AttemptHooks(settings, seen, attempt)
			await hooks.onRequest(body !== request.body)
		}
		// 2. Send
		this.isSent = attempt.isSent = true
		if (pauses !== origin) origin.inFlight++
		pauses.onRequest()
		let received: HttpResponse
		try {
			received = await request.send(request.url, init)
			if (!isResponse(received)) throw new TypeError('fetch returned something that is not a Response')
			if (request.follow && isRedirect(received.status))
				received = await request.follow(received, request.url, init)
		} finally {
			pauses.inFlight--
			if (pauses !== origin) origin.inFlight--
		}
		// 3. Attribute
		const respondent = this.#attribute(attempt, received)
		// 4. Limit. A `fetch` that ignores its signal may respond after the abort.
		if (signal.aborted) {
			void drainBody(received, runtime)
			throw signal.reason
		}
		const onBytes = attempt.progressOf(received, request.reportProgress)
		let response = limitBody(received, origin.name, settings.maxResponseBytes, onBytes)
		// 5. Judge. Only `fetch` has hooks, and it returns real responses.
		if (hooks) response = await hooks.onResponse(response as Response)
		const isValid = !hooks || (await hooks.isValid(response as Response))
		if (isValid && request.finish) response = await request.finish(response)
		if (isValid && response.status < 400) return response
		const error = this.#fail(response, received, respondent)
		if (!isValid) setMessage(error, `${error.message}, but validateResponse returned false`)
		throw error
	}

	/** Returns the origin that has responded, and lets the response end probes and report quotas there. */
	#attribute(attempt: Attempt, response: HttpResponse): Origin | undefined {
		const { origin, pauses } = this
		const respondent = attempt.respondent(response)
		const isHandled = !isUnavailable(response.status)
		// If another origin has responded, this one has sent a redirect.
		pauses.endProbe(this, respondent !== origin || isHandled)
		const responsible = this.#pausesOf(respondent)
		responsible?.endProbe(this, isHandled)
		responsible?.readQuota(response)
		return respondent
	}

	/** Returns what a Retry-After or a quota of this origin pauses. */
	#pausesOf(respondent: Origin | undefined): Pauses | undefined {
		const { origin, pauses } = this
		if (respondent === origin) return pauses
		return pauses === origin ? respondent : undefined
	}

	/** Returns the error of a failed status. A Retry-After pauses the origin or the principal. */
	#fail(response: HttpResponse, received: HttpResponse, respondent: Origin | undefined): HttpStatusError {
		const { plan, origin, url, method } = this
		const { status } = response
		this.#failedResponses ??= []
		this.#failedResponses.push(response)
		const hasKey = plan.idempotencyKey !== undefined
		const facts = readStatusFacts(response, origin.settings, hasKey, origin.runtime.wallNow())
		const { waitMs, isTooLong } = facts
		if (waitMs !== undefined && isUnavailable(status)) {
			const pauseMs = isTooLong ? Math.min(waitMs, MAX_PAUSE_MS) : waitMs
			const paused = { method, url: respondent === origin ? url : response.url || url }
			this.#pausesOf(respondent)?.pause(pauseMs, status, paused)
		}
		const error = new HttpStatusError(response, facts)
		// The `fetch` may be a resilient one with its own retries.
		copyRecord(received, error)
		return error
	}

	/** Ends the request body if the call was rejected before it was sent. A sent body belongs to `fetch`. */
	discardUnsentBody(reason: unknown): void {
		if (this.isSent) return
		const { body, ownBody } = this.plan.request
		if (typeof body !== 'function') discardBody(body, reason)
		discardBody(ownBody, reason)
	}

	/** Drains the responses that the caller does not receive: before a retry, and of hedges that lost. */
	drainAllExcept(final: unknown): void {
		if (!this.#failedResponses) return
		for (const response of this.#failedResponses.splice(0))
			if (response !== final) void drainBody(response, this.origin.runtime)
	}

	/**
	 * Returns how many retries count so far; -1 if the request may ask for the result of an attempt in
	 * progress, which does not count. Not if it must be sent only once (`maxRetries: 0`). Without a deadline
	 * the questions must end too.
	 */
	countRetries({ attempt, options }: Call, isInProgress: boolean): number {
		const { maxRetries = this.plan.settings.maxRetries } = this.plan.options
		if (isInProgress && maxRetries > 0) {
			const now = this.origin.runtime.now()
			this.#askedSince ??= now
			if (options?.deadline || now - this.#askedSince < MAX_ASKED_MS) {
				this.#questions++
				return -1
			}
		}
		return attempt - this.#questions
	}
}

/** Returns the run of a call: the HTTP engine creates all calls of HTTP's layers. */
export const runOf = (call: Call): RequestRun => call.options?.extension as RequestRun
