/**
 * One logical request: what is sent, how often it may be, and what each attempt of it is. It is also the options of its call,
 * so that the layers find it by the call, and nothing is made twice.
 */
import { permanent } from '../../core/classify/permanent.ts'
import type { Deadline } from '../../core/deadline/deadline.ts'
import { Call } from '../../core/engine/call.ts'
import type { CallContext, CallOptions } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'
import type { SignalLink } from '../../core/engine/scope.ts'
import type { StopReason } from '../../core/explain/record.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { readRetryAfter } from '../headers/asked-wait.ts'
import { writeDeadline } from '../headers/deadline-headers.ts'
import { addHeaders, copyHeaders, type HeaderSource } from '../headers/request-headers.ts'
import { areRetriesExhausted, OUTERMOST, RETRY_ATTEMPT, RETRY_LAYER } from '../headers/retry-headers.ts'
import type { RequestOptions } from '../options/request-options.ts'
import type { Origin } from '../origin/origin.ts'
import { addJitter, MAX_PAUSE_MS } from '../origin/origin-pause.ts'
import { isIdempotentMethod } from '../transport/methods.ts'
import { type BodySource, isReplayable, isStream, type RequestBody } from '../transport/request-body.ts'
import {
	type HttpResponse,
	headerOf,
	type ListenableInit,
	type TransportInit,
} from '../transport/transport.ts'
import { drainBody } from './drain-body.ts'
import { LazyAbortSignal } from './lazy-abort-signal.ts'
import { isLeftToOutermost } from './retry-layer.ts'
import { isUnprocessed } from './retry-safety.ts'
import { HttpStatusError, type RetryAfterFacts } from './status-error.ts'

/** What is to be sent, before anything was decided about it. */
export interface PreparedRequest {
	readonly url: string
	readonly method: string
	readonly headers: HeaderSource
	readonly body: RequestBody
	/** Everything else that the caller said. */
	readonly init: RequestInit | undefined
	/** Is the body part of something that can be sent once only? */
	readonly isSingleUse: boolean
	/** Puts it on the wire. */
	readonly send: (url: string, init: TransportInit) => Promise<HttpResponse>
	/** The same for a transport that needs no signal. */
	readonly sendWithNotice?: ((url: string, init: ListenableInit) => Promise<HttpResponse>) | undefined
	/** Work that belongs to the attempt once its head is there, such as keeping a copy. */
	readonly finish?: ((response: HttpResponse) => HttpResponse | Promise<HttpResponse>) | undefined
}

export class HttpCall implements CallOptions {
	/** Found again in a copy of these options, too. */
	readonly self: this = this
	readonly request: PreparedRequest
	readonly origin: Origin
	readonly runtime: Runtime
	readonly settings: RequestOptions
	readonly signal: AbortSignal | undefined
	readonly deadline: Deadline | undefined
	readonly name: string | undefined
	readonly key: string
	/** To core this is about sending two at once, which only safe methods bear. */
	readonly idempotent: boolean
	readonly parent: CallOptions | undefined
	/** Sent with every attempt, and makes any request repeatable. */
	readonly idempotencyKey: string | undefined
	/** Does the key have to be added to the caller's headers? */
	readonly isKeyAdded: boolean
	readonly timeoutMs: number
	/** The time for the whole, where that is the toolkit's own limit and not the caller's deadline. */
	readonly totalMs: number | undefined
	/** Of the caller's, as they were. */
	readonly headers: HeaderSource
	call: Call | undefined
	/** Answers that were no success. All but the last are thrown away. */
	#refusals: HttpResponse[] | undefined

	constructor(outgoing: PreparedRequest, origin: Origin, runtime: Runtime, facts: HttpCallFacts) {
		this.request = outgoing
		this.headers = copyHeaders(outgoing.headers)
		this.origin = origin
		this.runtime = runtime
		this.settings = facts.settings
		this.signal = facts.signal
		this.deadline = facts.deadline
		this.name = facts.settings.name
		this.key = origin.name
		this.idempotent = facts.isSafe
		this.parent = facts.within
		this.idempotencyKey = facts.idempotencyKey
		this.isKeyAdded = facts.isKeyAdded
		this.timeoutMs = facts.settings.timeout ?? origin.settings.timeout
		this.totalMs = facts.totalMs
	}

	/** One attempt: answers with a response below 400, and throws everything else. */
	async attempt(context: CallContext): Promise<HttpResponse> {
		const { origin, request } = this
		const { body } = request
		const aborts = tieOf(context)
		const given = typeof body === 'function' ? await made(body, aborts) : body
		origin.sent()
		let response: HttpResponse
		try {
			response = await this.#send(context, aborts, given)
		} catch (error) {
			origin.inFlight--
			throw error
		}
		origin.answered(response)
		// Nobody waits for it any more, and a transport that did not hear of that may still answer.
		if (isAborted(aborts)) {
			void drainBody(response, this.runtime)
			throw reasonOf(aborts)
		}
		if (request.finish) response = await request.finish(response)
		if (response.status >= 400) {
			this.#refusals ??= []
			this.#refusals.push(response)
			throw this.#refused(response)
		}
		return response
	}

	/** Throws away every answer that nobody will see: those before a retry, and those of hedges that lost. */
	drainAllExcept(final: unknown): void {
		for (const response of this.#refusals?.splice(0) ?? [])
			if (response === final) this.#refusals?.push(response)
			else void drainBody(response, this.runtime)
	}

	/** Why a failure of this attempt must not be repeated; undefined when it may be, as far as HTTP goes. */
	retryBlocker(error: unknown, attempt: number): StopReason | undefined {
		const { settings, origin, request, idempotencyKey } = this
		const { maxRetries, idempotent } = settings
		if (attempt >= origin.settings.maxRetries) return undefined
		if (maxRetries !== undefined && attempt >= maxRetries) return 'retries-exhausted'
		if (error instanceof HttpStatusError) {
			const { response } = error
			if (areRetriesExhausted({ get: (name) => headerOf(response, name) })) return 'inner-retry'
			for (const [name, value] of origin.settings.vetoes)
				if (headerOf(response, name)?.trim().toLowerCase() === value) return 'server-veto'
			if (error.isTooLong) return 'retry-after'
		}
		const mayRepeat = idempotent ?? (idempotencyKey !== undefined || isIdempotentMethod(request.method))
		if (!mayRepeat && !isUnprocessed(error)) return 'not-idempotent'
		return request.isSingleUse || !isReplayable(request.body) ? 'body-used' : undefined
	}

	#send(context: CallContext, aborts: SignalLink, body: RequestBody): Promise<HttpResponse> {
		const { request, call } = this
		const { method, init } = request
		const { headers } = this
		const caller = call?.options?.signal
		const extra = this.#extraHeaders(context)
		const { url, send, sendWithNotice } = request
		const notice = !caller && sendWithNotice && aborts instanceof LazyAbortSignal ? aborts : undefined
		const sent = {
			...init,
			method,
			headers: extra ? addHeaders(headers, extra) : headers,
			body,
			notice,
			// The runtime ties the two together for as long as the body lasts, and lets go of them by itself.
			signal: notice ? undefined : caller ? AbortSignal.any([caller, aborts.signal]) : aborts.signal,
		}
		// What is no body to the types of the platform is one to some runtimes, such as an async iterable.
		const whole: unknown = isStream(body) ? { ...sent, duplex: 'half' } : sent
		return notice && sendWithNotice
			? sendWithNotice(url, whole as ListenableInit)
			: send.call(request, url, whole as TransportInit)
	}

	/** What the toolkit adds: mostly one header or none, and then no more is made for it. */
	#extraHeaders({ attempt, deadline }: CallContext): Record<string, string> | undefined {
		const { origin, idempotencyKey, isKeyAdded, parent } = this
		const { deadlineHeader, nested, idempotencyHeader } = origin.settings
		const key =
			isKeyAdded && idempotencyKey !== undefined ? { [idempotencyHeader]: idempotencyKey } : undefined
		if (!origin.mayAddHeaders) return key
		// The other side need not work on for longer than this attempt waits.
		const left =
			deadlineHeader && deadline
				? { [deadlineHeader]: writeDeadline(deadlineHeader, Math.min(deadline.remainingMs, this.timeoutMs)) }
				: undefined
		const isOutermost = nested === OUTERMOST || (parent !== undefined && isLeftToOutermost(parent))
		if (!key && !isOutermost && attempt === 0) return left
		return {
			...key,
			...left,
			...(attempt > 0 && { [RETRY_ATTEMPT]: String(attempt) }),
			...(isOutermost && { [RETRY_LAYER]: OUTERMOST }),
		}
	}

	/** What an answer of 400 or more asks for, of this call and of everybody. */
	#refused(response: HttpResponse): HttpStatusError {
		const { origin, runtime, idempotencyKey } = this
		const { maxRetryAfterMs, longRetryAfter } = origin.settings
		const { status } = response
		const asked = readRetryAfter({ get: (name) => headerOf(response, name) }, runtime.wallNow())
		const isLong = asked !== undefined && asked > maxRetryAfterMs
		const isInProgress = status === 409 && idempotencyKey !== undefined && asked !== undefined
		if (asked === undefined || (isLong && longRetryAfter === 'ignore'))
			return new HttpStatusError(response, { isInProgress })
		const isFinal = isLong && longRetryAfter === 'fail'
		if (status === 429 || status >= 500)
			origin.askedFor(Math.min(asked, isFinal ? MAX_PAUSE_MS : maxRetryAfterMs))
		const facts: RetryAfterFacts = {
			retryAfterMs: asked,
			waitMs: isFinal ? asked : addJitter(Math.min(asked, maxRetryAfterMs), runtime),
			isTooLong: isFinal,
			isInProgress,
		}
		return new HttpStatusError(response, facts)
	}
}

/** What is known of a call when its exchange is made. */
export interface HttpCallFacts {
	readonly settings: RequestOptions
	readonly signal: AbortSignal | undefined
	readonly within: CallOptions | undefined
	readonly deadline: Deadline | undefined
	readonly totalMs: number | undefined
	readonly isSafe: boolean
	readonly idempotencyKey: string | undefined
	readonly isKeyAdded: boolean
}

/**
 * The body that a caller's function makes. What it throws says nothing about the other side, and would be thrown again; what it makes
 * too late is closed again, for nobody will read it.
 */
async function made(body: () => BodySource | Promise<BodySource>, aborts: SignalLink): Promise<BodySource> {
	let given: BodySource
	try {
		given = await body()
	} catch (error) {
		throw typeof error === 'object' && error !== null ? permanent(error) : error
	}
	if (!isAborted(aborts)) return given
	const stream: { cancel?(): Promise<void>; destroy?(): void } = Object(given)
	if (stream.destroy) stream.destroy()
	else await stream.cancel?.().catch(() => {})
	throw reasonOf(aborts)
}

const isAborted = (aborts: SignalLink): boolean =>
	aborts instanceof LazyAbortSignal ? aborts.isAborted : aborts.signal.aborted
const reasonOf = (aborts: SignalLink): unknown =>
	(aborts instanceof LazyAbortSignal ? aborts : aborts.signal).reason

/** What aborts this attempt, as it is; a context makes a real signal of it. Of a hedge, each request is a call of its own. */
function tieOf(context: CallContext): SignalLink {
	const call = context instanceof Context ? Context.callOf(context) : undefined
	// Read now: after the end nothing is tied any more.
	return (call instanceof Call ? call.scope.link : undefined) ?? { signal: context.signal }
}

/** The exchange that a call carries out. Every call of these layers has one. */
export function httpCallOf(call: Call): HttpCall {
	const { self } = call.options as Partial<HttpCall>
	if (!(self instanceof HttpCall)) throw new TypeError('this call is none of HTTP')
	return self
}
