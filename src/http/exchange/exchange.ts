/**
 * One logical request: what is sent, how often it may be, and what each attempt of it is. It is also the options of its call,
 * so that the layers find it by the call, and nothing is made twice.
 */
import { permanent } from '../../core/classify/permanent.ts'
import type { Deadline } from '../../core/deadline/deadline.ts'
import { Call } from '../../core/engine/call.ts'
import type { CallContext, CallOptions } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'
import type { Tie } from '../../core/engine/scope.ts'
import type { StopReason } from '../../core/explain/record.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { discard } from '../attempt/discard.ts'
import { QuietSignal } from '../attempt/quiet-signal.ts'
import type { RequestSettings } from '../call-settings.ts'
import { LONGEST_HOLD_MS, spread } from '../origin/hold.ts'
import type { Origin } from '../origin/origin.ts'
import { askedWaitMs } from '../retry-after/asked-wait.ts'
import { writeDeadline } from '../service/deadline-headers.ts'
import { isLeftToOutermost } from '../service/outermost.ts'
import { OUTERMOST, RETRY_ATTEMPT, RETRY_LAYER, saysRetriesExhausted } from '../service/service-headers.ts'
import type { HttpResponse, NoticedInit, TransportInit } from '../transport/transport.ts'
import { type BodySource, isReplayable, isStream, type RequestBody } from './body.ts'
import { isIdempotentMethod, isUnprocessed } from './repeat.ts'
import { copied, type HeaderSource, withHeaders } from './request-headers.ts'
import { type Asked, HttpStatusError, headerOf } from './status-error.ts'

/** What is to be sent, before anything was decided about it. */
export interface Outgoing {
	readonly url: string
	readonly method: string
	readonly headers: HeaderSource
	readonly body: RequestBody
	/** Everything else that the caller said. */
	readonly init: RequestInit | undefined
	/** Is the body part of something that can be sent once only? */
	readonly isOnce: boolean
	/** Puts it on the wire. */
	readonly send: (url: string, init: TransportInit) => Promise<HttpResponse>
	/** The same for a transport that needs no signal. */
	readonly sendWithNotice?: ((url: string, init: NoticedInit) => Promise<HttpResponse>) | undefined
	/** Work that belongs to the attempt once its head is there, such as keeping a copy. */
	readonly finish?: ((response: HttpResponse) => HttpResponse | Promise<HttpResponse>) | undefined
}

export class Exchange implements CallOptions {
	/** Found again in a copy of these options, too. */
	readonly self: this = this
	readonly outgoing: Outgoing
	readonly origin: Origin
	readonly runtime: Runtime
	readonly settings: RequestSettings
	readonly signal: AbortSignal | undefined
	readonly deadline: Deadline | undefined
	readonly name: string | undefined
	readonly key: string
	/** To core this is about sending two at once, which only safe methods bear. */
	readonly idempotent: boolean
	readonly within: CallOptions | undefined
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

	constructor(outgoing: Outgoing, origin: Origin, runtime: Runtime, facts: ExchangeFacts) {
		this.outgoing = outgoing
		this.headers = copied(outgoing.headers)
		this.origin = origin
		this.runtime = runtime
		this.settings = facts.settings
		this.signal = facts.signal
		this.deadline = facts.deadline
		this.name = facts.settings.name
		this.key = origin.name
		this.idempotent = facts.isSafe
		this.within = facts.within
		this.idempotencyKey = facts.idempotencyKey
		this.isKeyAdded = facts.isKeyAdded
		this.timeoutMs = facts.settings.timeout ?? origin.settings.timeout
		this.totalMs = facts.totalMs
	}

	/** One attempt: answers with a response below 400, and throws everything else. */
	async attempt(context: CallContext): Promise<HttpResponse> {
		const { origin, outgoing } = this
		const { body } = outgoing
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
			void discard(response, this.runtime)
			throw reasonOf(aborts)
		}
		if (outgoing.finish) response = await outgoing.finish(response)
		if (response.status >= 400) {
			this.#refusals ??= []
			this.#refusals.push(response)
			throw this.#refused(response)
		}
		return response
	}

	/** Throws away every answer that nobody will see: those before a retry, and those of hedges that lost. */
	discardAllBut(final: unknown): void {
		for (const response of this.#refusals?.splice(0) ?? [])
			if (response === final) this.#refusals?.push(response)
			else void discard(response, this.runtime)
	}

	/** Why a failure of this attempt must not be repeated; undefined when it may be, as far as HTTP goes. */
	whyNotRepeated(error: unknown, attempt: number): StopReason | undefined {
		const { settings, origin, outgoing, idempotencyKey } = this
		const { maxRetries, idempotent } = settings
		if (attempt >= origin.settings.maxRetries) return undefined
		if (maxRetries !== undefined && attempt >= maxRetries) return 'retries-used-up'
		if (error instanceof HttpStatusError) {
			const { response } = error
			if (saysRetriesExhausted({ get: (name) => headerOf(response, name) })) return 'inner-retry'
			for (const [name, value] of origin.settings.vetoes)
				if (headerOf(response, name)?.trim().toLowerCase() === value) return 'server-veto'
			if (error.isTooLong) return 'retry-after'
		}
		const mayRepeat = idempotent ?? (idempotencyKey !== undefined || isIdempotentMethod(outgoing.method))
		if (!mayRepeat && !isUnprocessed(error)) return 'not-idempotent'
		return outgoing.isOnce || !isReplayable(outgoing.body) ? 'body-used' : undefined
	}

	#send(context: CallContext, aborts: Tie, body: RequestBody): Promise<HttpResponse> {
		const { outgoing, call } = this
		const { method, init } = outgoing
		const { headers } = this
		const caller = call?.options?.signal
		const extra = this.#extraHeaders(context)
		const { url, send, sendWithNotice } = outgoing
		const notice = !caller && sendWithNotice && aborts instanceof QuietSignal ? aborts : undefined
		const sent = {
			...init,
			method,
			headers: extra ? withHeaders(headers, extra) : headers,
			body,
			notice,
			// The runtime ties the two together for as long as the body lasts, and lets go of them by itself.
			signal: notice ? undefined : caller ? AbortSignal.any([caller, aborts.signal]) : aborts.signal,
		}
		// What is no body to the types of the platform is one to some runtimes, such as an async iterable.
		const whole: unknown = isStream(body) ? { ...sent, duplex: 'half' } : sent
		return notice && sendWithNotice
			? sendWithNotice(url, whole as NoticedInit)
			: send.call(outgoing, url, whole as TransportInit)
	}

	/** What the toolkit adds: mostly one header or none, and then no more is made for it. */
	#extraHeaders({ attempt, deadline }: CallContext): Record<string, string> | undefined {
		const { origin, idempotencyKey, isKeyAdded, within } = this
		const { deadlineHeader, nested, idempotencyHeader } = origin.settings
		const key =
			isKeyAdded && idempotencyKey !== undefined ? { [idempotencyHeader]: idempotencyKey } : undefined
		if (!origin.mayAddHeaders) return key
		// The other side need not work on for longer than this attempt waits.
		const left =
			deadlineHeader && deadline
				? { [deadlineHeader]: writeDeadline(deadlineHeader, Math.min(deadline.remainingMs, this.timeoutMs)) }
				: undefined
		const isOutermost = nested === OUTERMOST || (within !== undefined && isLeftToOutermost(within))
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
		const asked = askedWaitMs({ get: (name) => headerOf(response, name) }, runtime.wallNow())
		const isLong = asked !== undefined && asked > maxRetryAfterMs
		const isInProgress = status === 409 && idempotencyKey !== undefined && asked !== undefined
		if (asked === undefined || (isLong && longRetryAfter === 'ignore'))
			return new HttpStatusError(response, { isInProgress })
		const isFinal = isLong && longRetryAfter === 'fail'
		if (status === 429 || status >= 500)
			origin.askedFor(Math.min(asked, isFinal ? LONGEST_HOLD_MS : maxRetryAfterMs))
		const facts: Asked = {
			retryAfterMs: asked,
			waitMs: isFinal ? asked : spread(Math.min(asked, maxRetryAfterMs), runtime),
			isTooLong: isFinal,
			isInProgress,
		}
		return new HttpStatusError(response, facts)
	}
}

/** What is known of a call when its exchange is made. */
export interface ExchangeFacts {
	readonly settings: RequestSettings
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
async function made(body: () => BodySource | Promise<BodySource>, aborts: Tie): Promise<BodySource> {
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

const isAborted = (aborts: Tie): boolean =>
	aborts instanceof QuietSignal ? aborts.isAborted : aborts.signal.aborted
const reasonOf = (aborts: Tie): unknown => (aborts instanceof QuietSignal ? aborts : aborts.signal).reason

/** What aborts this attempt, as it is; a context makes a real signal of it. Of a hedge, each request is a call of its own. */
function tieOf(context: CallContext): Tie {
	const call = context instanceof Context ? Context.callOf(context) : undefined
	// Read now: after the end nothing is tied any more.
	return (call instanceof Call ? call.scope.tie : undefined) ?? { signal: context.signal }
}

/** The exchange that a call carries out. Every call of these layers has one. */
export function exchangeOf(call: Call): Exchange {
	const { self } = call.options as Partial<Exchange>
	if (!(self instanceof Exchange)) throw new TypeError('this call is none of HTTP')
	return self
}
