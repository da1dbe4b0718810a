/**
 * What is decided about a request before its first attempt: what is sent, whether it may be sent twice, how
 * long it may take, and the settings that apply. A plan does not change. What happens to the request is in
 * its run (request-run.ts).
 */
import { Deadline } from '../../core/deadline/deadline.ts'
import { Call } from '../../core/engine/call.ts'
import type { CallExtension } from '../../core/engine/call-extension.ts'
import { type CallContext, type CallOptions, inheritCallOptions } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'
import { hasRetry, isEdgeOnly } from '../../core/retry/layer.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { randomUuid } from '../../core/runtime/system.ts'
import { writeDeadline } from '../headers/deadline-headers.ts'
import { addHeaders, copyHeaders, type HeaderSource, requestHeader } from '../headers/request-headers.ts'
import { OUTERMOST, RETRY_ATTEMPT, RETRY_LAYER } from '../headers/retry-headers.ts'
import { defaultTotalMs, type HttpSettings } from '../options/http-options.ts'
import type { RequestOptions } from '../options/request-options.ts'
import type { Origin } from '../origin/origin.ts'
import { REDIRECT_OBSERVER, type RedirectObserver } from '../transport/redirect.ts'
import {
	isReplayable,
	isSafeMethod,
	isStream,
	type PreparedRequest,
	type RequestBody,
	type TransportInit,
} from '../transport/request.ts'

export class RequestPlan {
	readonly request: PreparedRequest
	readonly options: RequestOptions
	/** Settings of the client. */
	readonly settings: HttpSettings
	/** The caller's deadline or the total timeout, whichever is earlier. */
	readonly deadline: Deadline | undefined
	readonly parent: CallOptions | undefined
	/** A copy of the caller's headers. */
	readonly headers: HeaderSource
	/** True if two concurrent requests are harmless, so that core may hedge the call. */
	readonly isHedgeable: boolean
	/** Sent with every attempt; makes any request safe to retry. */
	readonly idempotencyKey: string | undefined
	/** The same key, if it is not in the caller's headers. */
	readonly #addedKey: string | undefined
	/** The timeout of one attempt. */
	readonly timeoutMs: number
	/** `totalTimeoutMs`; undefined if the caller's deadline is earlier. */
	readonly totalTimeoutMs: number | undefined

	constructor(request: PreparedRequest, options: RequestOptions, settings: HttpSettings, runtime: Runtime) {
		const { timeout, deadline } = options
		// A longer attempt timeout for one request implies a longer total timeout, unless that was set
		// explicitly.
		const totalMs =
			options.totalTimeoutMs ??
			(timeout === undefined || settings.isTotalGiven
				? settings.totalTimeoutMs
				: defaultTotalMs(timeout, settings))
		const leftMs = Math.max(0, totalMs - (request.spentMs ?? 0))
		const total = leftMs < Infinity ? Deadline.after(leftMs, { runtime }) : undefined
		const isCallersEarlier = deadline && !(total && total.remainingMs < deadline.remainingMs)
		const isSafe = isSafeMethod(request.method)
		const written = isSafe ? '' : requestHeader(request.headers, settings.idempotencyHeader)
		// An empty header prevents a new key and does not help the server.
		const added = written === null ? (options.idempotencyKey ?? createKey(request, settings)) : undefined
		this.request = request
		this.options = options
		this.settings = settings
		this.deadline = isCallersEarlier ? deadline : total
		this.parent = options.parent ?? settings.getContext?.()
		this.headers = copyHeaders(request.headers)
		// A body that can be sent only once cannot be sent twice concurrently either.
		this.isHedgeable =
			isSafe && options.idempotent !== false && !request.isSingleUse && isReplayable(request.body)
		this.idempotencyKey = written || added
		this.#addedKey = added
		this.timeoutMs = timeout ?? settings.timeout
		this.totalTimeoutMs = isCallersEarlier ? undefined : totalMs
	}

	/** Returns the options of the call that runs this plan. `key` is the breaker's key, for events. */
	callOptions(key: string, signal: AbortSignal | undefined, extension: CallExtension): CallOptions {
		const { deadline, parent, isHedgeable: idempotent } = this
		const { name } = this.options
		const options = { signal, deadline, name, key, idempotent, parent, extension }
		return parent ? inheritCallOptions(options, parent) : options
	}

	/** Returns the init of one attempt. `added` are the headers of an observer, such as the trace context. */
	initOf(
		context: CallContext,
		origin: Origin,
		signal: AbortSignal,
		body: RequestBody,
		observer: RedirectObserver,
		added: Readonly<Record<string, string>> | undefined,
	): TransportInit {
		const { method, init, follow } = this.request
		const own = this.#headersFor(context, origin)
		const extra = added ? { ...added, ...own } : own
		const headers = extra ? addHeaders(this.headers, extra) : this.headers
		const redirect = follow ? 'manual' : init?.redirect
		const common = { method, headers, body, signal, redirect, [REDIRECT_OBSERVER]: observer }
		// A copy costs several objects, and few requests have an init.
		const sent = init ? { ...init, ...common } : common
		// The platform's types do not know bodies that some runtimes accept, such as async iterables.
		const final: unknown = isStream(body) ? { ...sent, duplex: 'half' } : sent
		return final as TransportInit
	}

	/** Returns the headers that the package adds. Mostly that is one or none, and no further object. */
	#headersFor({ attempt, deadline }: CallContext, origin: Origin): Record<string, string> | undefined {
		const { deadlineHeader, nested, idempotencyHeader } = origin.settings
		const { parent, timeoutMs } = this
		const key = this.#addedKey === undefined ? undefined : { [idempotencyHeader]: this.#addedKey }
		if (!origin.mayAddHeaders) return key
		// The service need not work longer than this attempt waits.
		const remaining =
			deadlineHeader && deadline
				? { [deadlineHeader]: writeDeadline(deadlineHeader, Math.min(deadline.remainingMs, timeoutMs)) }
				: undefined
		const isOutermost = nested === OUTERMOST || (parent !== undefined && hasOutermostRetry(parent))
		if (!key && !isOutermost && attempt === 0) return remaining
		return {
			...key,
			...remaining,
			...(attempt > 0 && { [RETRY_ATTEMPT]: String(attempt) }),
			...(isOutermost && { [RETRY_LAYER]: OUTERMOST }),
		}
	}
}

/** Returns a new idempotency key for a POST or PATCH if `idempotency` is `'auto'`. */
const createKey = ({ method }: PreparedRequest, { idempotency }: HttpSettings): string | undefined =>
	idempotency === 'auto' && (method === 'POST' || method === 'PATCH') ? randomUuid() : undefined

/**
 * Returns true if a retry layer around this call, in this process or at a caller, is set to
 * `nested: 'outermost'`. Requests then send `x-retry-layer`, or the setting would end at the second service.
 */
export function hasOutermostRetry(context: CallOptions | undefined): boolean {
	const call = Context.callOf(context)
	return call instanceof Call && hasRetry(call, call.current, isEdgeOnly)
}
