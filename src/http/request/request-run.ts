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
import { type BodySource, discardBody, type TransportInit } from '../transport/request.ts'
import { type HttpResponse, isRedirect, isResponse } from '../transport/response.ts'
import { Attempt } from './attempt.ts'
import { AttemptHooks, createBody } from './attempt-hooks.ts'
import { drainBody } from './drain-body.ts'
import type { HttpAttempt } from './http-attempt.ts'
import { limitBody } from './limit-body.ts'
import type { RedirectCircuits } from './redirect-circuits.ts'
import type { RequestPlan } from './request-plan.ts'
import { HttpStatusError, readStatusFacts, setMessage } from './status-error.ts'

/** The limit without a deadline: the default of the longest run of a request in `yaoki/idempotency`. */
const MAX_ASKED_MS = 600_000

type AddedHeaders = Readonly<Record<string, string>> | undefined

/** What an attempt sends. */
interface Sending {
	readonly init: TransportInit
	/** Undefined if the user has set no hooks. */
	readonly hooks: AttemptHooks | undefined
}

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
	#observerHeaders: AddedHeaders
	/** Responses with a failed status. All but the final one are drained. */
	#failedResponses: HttpResponse[] | undefined

	constructor(plan: RequestPlan, origin: Origin, pauses: Pauses) {
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
	 * the response is awaited: the other steps return a promise only for functions of the user, and the cache.
	 */
	async attempt(context: CallContext): Promise<HttpResponse> {
		const attempt = Attempt.of(context)
		const { request } = this.plan
		// 1. Prepare
		const prepared = this.#prepare(attempt, context)
		const sending = prepared instanceof Promise ? await prepared : prepared
		// 2. Send. Not an async function of its own, which would cost a promise per request.
		let response: HttpResponse
		this.#countSent(attempt)
		try {
			response = await request.send(request.url, sending.init)
			if (!isResponse(response)) throw new TypeError('fetch returned something that is not a Response')
			if (request.follow && isRedirect(response.status))
				response = await request.follow(response, request.url, sending.init)
		} finally {
			this.#countHead()
		}
		// 3. Attribute
		const respondent = this.#attribute(attempt, response)
		// 4. Limit
		const limited = this.#limit(attempt, response, sending)
		// 5. Judge
		return this.#judge(limited, sending, response, respondent)
	}

	/** Creates the body and the init of the attempt, and calls `onRequest`. */
	#prepare(attempt: Attempt, context: CallContext): Sending | Promise<Sending> {
		const { body } = this.plan.request
		const { onRequest, onResponse, validateResponse } = this.origin.settings
		const hasHooks = onRequest || onResponse || validateResponse
		const added = this.#observerHeaders
		this.#observerHeaders = undefined
		const signal = attempt.connect()
		return hasHooks || typeof body === 'function'
			? this.#prepareByUser(attempt, context, signal, added)
			: { init: this.#createInit(attempt, context, signal, added, body), hooks: undefined }
	}

	async #prepareByUser(
		attempt: Attempt,
		context: CallContext,
		signal: AbortSignal,
		added: AddedHeaders,
	): Promise<Sending> {
		const { settings, runtime } = this.origin
		const { url, method, body: given } = this.plan.request
		const body = typeof given === 'function' ? await createBody(given, signal) : given
		const init = this.#createInit(attempt, context, signal, added, body)
		if (!settings.onRequest && !settings.onResponse && !settings.validateResponse)
			return { init, hooks: undefined }
		const headers = new Headers(init.headers)
		const request = { url, method, headers, body, attempt: context.attempt, signal }
		const hooks = new AttemptHooks(settings, request, attempt, runtime)
		if (settings.onRequest) await hooks.onRequest(body !== given)
		return { init: { ...init, headers }, hooks }
	}

	#createInit(
		attempt: Attempt,
		context: CallContext,
		signal: AbortSignal,
		added: AddedHeaders,
		body: BodySource,
	): TransportInit {
		this.body = body
		return this.plan.initOf(context, this.origin, signal, body, attempt, added)
	}

	#countSent(attempt: Attempt): void {
		const { origin, pauses } = this
		this.isSent = attempt.isSent = true
		if (pauses !== origin) origin.inFlight++
		pauses.onRequest()
	}

	#countHead(): void {
		const { origin, pauses } = this
		pauses.inFlight--
		if (pauses !== origin) origin.inFlight--
	}

	/** Returns the origin that has responded, and lets the response end probes and report quotas there. */
	#attribute(attempt: Attempt, response: HttpResponse): Origin | undefined {
		const { origin, pauses } = this
		const respondent = attempt.respondent(response)
		const isHandled = response.status !== 429 && response.status < 500
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

	/** Returns the response with a body that is counted and limited, if there is a reason to. */
	#limit(attempt: Attempt, response: HttpResponse, { init }: Sending): HttpResponse {
		const { name, runtime, settings } = this.origin
		const { maxResponseBytes = Infinity } = settings
		// A `fetch` that ignores its signal may respond after the abort.
		if (init.signal.aborted) {
			void drainBody(response, runtime)
			throw init.signal.reason
		}
		const onBytes = attempt.progressOf(response, this.plan.request.reportProgress)
		return onBytes || maxResponseBytes < Infinity
			? limitBody(response, name, maxResponseBytes, onBytes)
			: response
	}

	/** Returns a valid response with a status below 400, and throws the error for any other. */
	#judge(
		limited: HttpResponse,
		{ hooks }: Sending,
		received: HttpResponse,
		respondent: Origin | undefined,
	): HttpResponse | Promise<HttpResponse> {
		if (hooks || this.plan.request.finish) return this.#judgeByUser(limited, hooks, received, respondent)
		if (limited.status < 400) return limited
		throw this.#fail(limited, received, respondent)
	}

	async #judgeByUser(
		limited: HttpResponse,
		hooks: AttemptHooks | undefined,
		received: HttpResponse,
		respondent: Origin | undefined,
	): Promise<HttpResponse> {
		const { finish } = this.plan.request
		// Only `fetch` has hooks, and it returns real responses.
		let response = hooks ? await hooks.onResponse(limited as Response) : limited
		const isValid = !hooks || (await hooks.isValid(response as Response))
		if (finish && isValid) response = await finish(response)
		if (isValid && response.status < 400) return response
		const error = this.#fail(response, received, respondent)
		if (!isValid) setMessage(error, `${error.message}, but validateResponse returned false`)
		throw error
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
		if (waitMs !== undefined && (status === 429 || status >= 500)) {
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
		const failed = this.#failedResponses
		if (!failed) return
		for (const response of failed.splice(0))
			if (response === final) failed.push(response)
			else void drainBody(response, this.origin.runtime)
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
