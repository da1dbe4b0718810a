/**
 * What `resilientFetch`, the client and the adapters share: finds the lane of a request's origin and sends the request through its policies.
 */
import { Deadline } from '../../core/deadline/deadline.ts'
import { Call } from '../../core/engine/call.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import type { Policy } from '../../core/engine/policy.ts'
import { run } from '../../core/engine/runner.ts'
import { YaokiError } from '../../core/errors/errors.ts'
import { attachRecord, findRecord } from '../../core/explain/record.ts'
import { Registry } from '../../core/keyed/registry.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { requestHeader } from '../headers/request-headers.ts'
import { DEFAULT_TOTAL_FACTOR, type HttpSettings } from '../options/http-options.ts'
import { reword } from '../options/option-path.ts'
import type { RequestOptions } from '../options/request-options.ts'
import { OriginParser } from '../origin/origin-parser.ts'
import { attributeResponse } from '../request/attempt-layer.ts'
import { TimeoutLists } from '../request/attempt-timeouts.ts'
import { HttpCall, type HttpCallFacts, type PreparedRequest } from '../request/http-call.ts'
import { HttpStatusError } from '../request/status-error.ts'
import { isSafeMethod } from '../transport/methods.ts'
import { randomUuid } from '../transport/random-uuid.ts'
import { BODY_NOT_REPLAYABLE, isReplayable } from '../transport/request-body.ts'
import type { HttpResponse } from '../transport/transport.ts'
import { OriginPipeline } from './origin-pipeline.ts'

/** An origin that was not asked for this long is forgotten. */
const IDLE_MS = 600_000

/** What the engine has counted since it was made. */
export interface Counts {
	/** Logical requests. */
	requests: number
	/** Of these, those that ended in an error or in a status of 400 and more. */
	failures: number
	/** What was sent: first attempts, retries and hedges. */
	attempts: number
}

/** What becomes of statuses that are no success. */
export interface StatusHandling {
	/** Is everything but a 2xx a failure, a redirect that was not followed among them? Default: from 400 up. */
	readonly needsOk?: boolean
	/** Answers for a request that ended with such a status, or throws. Default: it is thrown. */
	refused?(error: HttpStatusError, call: Call): HttpResponse | Promise<HttpResponse>
}

export class HttpEngine {
	readonly settings: HttpSettings
	readonly runtime: Runtime
	readonly counts: Counts = { requests: 0, failures: 0, attempts: 0 }
	readonly lanes: Registry<OriginPipeline>
	readonly #origins: OriginParser
	readonly #make: (origin: string) => OriginPipeline
	readonly #ending: StatusHandling

	/** `takes` says which schemes of URLs are sent, such as `'https:'`. Default: all. */
	constructor(
		settings: HttpSettings,
		ending: StatusHandling = {},
		around: () => readonly Policy[] = () => [],
		takes?: (scheme: string) => boolean,
	) {
		this.settings = settings
		this.#origins = new OriginParser(takes)
		this.#ending = ending
		this.runtime = settings.runtime ?? systemRuntime
		this.lanes = new Registry(settings.maxOrigins, IDLE_MS)
		const limits = new TimeoutLists()
		this.#make = (origin) => new OriginPipeline(origin, settings, this.runtime, limits, around())
		// Made for nobody, so that options that can not work are refused now and not with the first request.
		this.#make('sample')
	}

	/** The lane of a URL's origin, made if there is none. */
	laneOf(url: string): OriginPipeline {
		return this.lanes.get(this.#origins.of(url), this.runtime.now(), this.#make)
	}

	/** Sends a request. Throws at once for what is no URL, or one that is not sent. */
	send(
		outgoing: PreparedRequest,
		given: RequestOptions,
		signal: AbortSignal | undefined,
	): Promise<HttpResponse> {
		const { runtime, counts, lanes } = this
		// Whatever may throw comes first: what is held has to be released.
		const facts = this.#facts(outgoing, given, signal)
		const entry = lanes.acquire(this.#origins.of(outgoing.url), runtime.now(), this.#make)
		const { origin, plan } = entry.value
		const exchange = new HttpCall(outgoing, origin, runtime, facts)
		const call = new Call(plan, exchange, (context) => {
			counts.attempts++
			return exchange.attempt(context)
		})
		exchange.call = call
		counts.requests++
		return run(call).then(
			(response) => {
				lanes.release(entry, runtime.now())
				exchange.drainAllExcept(response)
				return this.#answered(call, response as HttpResponse)
			},
			(error) => {
				lanes.release(entry, runtime.now())
				exchange.drainAllExcept(error instanceof HttpStatusError ? error.response : undefined)
				return this.#failed(call, error)
			},
		)
	}

	#answered(call: Call, response: HttpResponse): HttpResponse | Promise<HttpResponse> {
		if (call.lastAttempt) attributeResponse(response, call)
		return this.#ending.needsOk && !response.ok ? this.#failed(call, statusError(response)) : response
	}

	#failed(call: Call, error: unknown): HttpResponse | Promise<HttpResponse> {
		this.counts.failures++
		if (!(error instanceof HttpStatusError)) throw call.stop === 'body-used' ? told(error, call) : error
		attributeResponse(error.response, call)
		if (!this.#ending.refused) throw error
		return this.#ending.refused(error, call)
	}

	#facts(outgoing: PreparedRequest, given: RequestOptions, signal: AbortSignal | undefined): HttpCallFacts {
		const { settings } = this
		const { method } = outgoing
		const totalMs = given.totalTimeoutMs ?? wholeTime(given.timeout, settings)
		const own = totalMs < Infinity ? Deadline.after(totalMs, this) : undefined
		const isEarlier = given.deadline && !(own && own.remainingMs < given.deadline.remainingMs)
		const isSafe = isSafeMethod(method)
		const key = isSafe ? undefined : keyOf(outgoing, given, settings)
		return {
			settings: given,
			signal,
			within: given.parent ?? this.#context(),
			deadline: isEarlier ? given.deadline : own,
			totalMs: isEarlier ? undefined : totalMs,
			// What can be sent only once can not be sent twice at once either.
			isSafe: isSafe && given.idempotent !== false && !outgoing.isSingleUse && isReplayable(outgoing.body),
			idempotencyKey: key?.value,
			isKeyAdded: key?.isAdded === true,
		}
	}

	#context(): CallOptions | undefined {
		return this.settings.getContext?.()
	}
}

/** Who gives one request more time for an attempt means the whole to be longer, too, unless it was said how long that is. */
const wholeTime = (timeout: number | undefined, { totalTimeoutMs, isTotalGiven }: HttpSettings): number =>
	timeout === undefined || isTotalGiven ? totalTimeoutMs : DEFAULT_TOTAL_FACTOR * timeout

/** The key of a request that changes something: the caller's own, if there is one, or a new one where that was asked for. */
function keyOf(
	{ method, headers }: PreparedRequest,
	{ idempotencyKey }: RequestOptions,
	{ idempotency, idempotencyHeader }: HttpSettings,
): { readonly value: string; readonly isAdded: boolean } | undefined {
	const written = requestHeader(headers, idempotencyHeader)
	// An empty one is in the way of a new one and tells the server nothing.
	if (written !== null) return written === '' ? undefined : { value: written, isAdded: false }
	if (idempotencyKey !== undefined) return { value: idempotencyKey, isAdded: true }
	if (idempotency === 'manual' || (method !== 'POST' && method !== 'PATCH')) return undefined
	return { value: randomUuid(), isAdded: true }
}

/** Nothing has failed, and yet it is no answer. */
function statusError(response: HttpResponse): HttpStatusError {
	const error = new HttpStatusError(response)
	const record = findRecord(response)
	if (record) attachRecord(error, record)
	return error
}

/** A failure that would have been repeated, had it not been for the body: says so itself, for that can be mended. */
function told(error: unknown, call: Call): unknown {
	// What is the toolkit's own stays what it is: a timeout is looked for by its name.
	if (error instanceof YaokiError) {
		reword(error, `${error.message} (${BODY_NOT_REPLAYABLE})`)
		return error
	}
	const message = error instanceof Error ? error.message : String(error)
	const clearer = new TypeError(`${message} (${BODY_NOT_REPLAYABLE})`, { cause: error })
	attachRecord(clearer, call)
	return clearer
}
