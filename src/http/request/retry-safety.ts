/**
 * Decides whether a failed request may be sent again, and says why not. A request that certainly never
 * reached the server can be sent again, even a POST. Most errors do not show this; then a request is retried
 * only if executing it twice is the same as once: by its method or its idempotency key. The messages that are
 * matched here come from runtimes that provide the information nowhere else; the package's own errors are
 * never matched by text.
 */
import { safeGet, safeMessage } from '../../core/classify/safe-get.ts'
import type { Call } from '../../core/engine/call.ts'
import { formatMs, YaokiError } from '../../core/errors/errors.ts'
import { reduceUrls } from '../../core/events/error-facts.ts'
import { attachRecord, type StopReason } from '../../core/explain/record.ts'
import { requireSync } from '../../core/options/hooks.ts'
import { areRetriesExhausted } from '../headers/retry-headers.ts'
import type { HttpSettings } from '../options/http-options.ts'
import { isIdempotentMethod, isReplayable } from '../transport/request.ts'
import { headersOf } from '../transport/response.ts'
import type { Attempt } from './attempt.ts'
import type { RequestRun } from './request-run.ts'
import { HttpStatusError, setMessage } from './status-error.ts'

/**
 * No connection was established, or a proxy did not establish it (CONNECT), so nothing was sent: codes of
 * Node, undici and Bun. Deno, and undici for the response of a proxy, have only a message.
 */
const NOT_CONNECTED =
	/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_(CONNECT_TIMEOUT|PRX_\w+)|ERR_PROXY_TUNNEL|ConnectionRefused|FailedToOpenSocket)$|client error \(Connect\)|when HTTP Tunneling$/
/** Proves the same while connecting, or without a system call. On an open connection it proves nothing. */
const UNREACHABLE = /^E(HOST|NET)(UNREACH|DOWN)$/
/** HTTP/2: the server states that it has not processed the stream. Node has the code only in the message. */
const STREAM_REFUSED = /REFUSED_STREAM/
/**
 * HTTP/2: the server goes away, and its last processed stream is a lower one. undici 8 uses this message for
 * such streams only. Early versions used it, with the same code, also for streams that may have been
 * processed; their errors do not have the symbol.
 */
const GOAWAY = /^HTTP\/2: "GOAWAY" frame/
const UNDICI_INFO_ERROR = Symbol.for('undici.error.UND_ERR_INFO')
/** The failed system call. Before the connection exists, nothing was sent. */
const CONNECT_SYSCALL = /^(connect|getaddrinfo)$/

/** How many errors are examined, as in `classify`: causes and parts may form cycles. */
const MAX_ERRORS = 99

/** Returns true if the server has certainly not processed the request. A redirect is a response. */
export function isUnprocessed(error: unknown): boolean {
	// Grows while it is iterated: several addresses were tried, and each failure must prove it.
	const failures: unknown[] = [error]
	let examined = 0
	for (const first of failures) {
		// Misdirected Request: this server is not responsible for the origin.
		if (first instanceof HttpStatusError) {
			if (first.statusCode !== 421) return false
			continue
		}
		for (let failure = first; ; failure = safeGet(failure, 'cause')) {
			if (!failure || ++examined > MAX_ERRORS) return false
			const parts = safeGet(failure, 'errors')
			// Checked before its own code: an AggregateError has the code of one of its parts.
			if (Array.isArray(parts) && parts.length > 0) {
				if (parts.length > MAX_ERRORS) return false
				failures.push(...parts)
				break
			}
			if (isProof(failure)) break
		}
	}
	return true
}

/** Returns true if the error itself shows that nothing was processed. */
function isProof(failure: unknown): boolean {
	const [code = '', message = '', syscall = ''] = ['code', 'message', 'syscall'].map((name) => {
		const value = safeGet(failure, name)
		return typeof value === 'string' ? value : ''
	})
	return (
		CONNECT_SYSCALL.test(syscall) ||
		(UNREACHABLE.test(code) && !syscall) ||
		[code, message].some((text) => NOT_CONNECTED.test(text) || STREAM_REFUSED.test(text)) ||
		(GOAWAY.test(message) && UNDICI_INFO_ERROR in Object(failure))
	)
}

/** Returns why HTTP forbids a retry after this error, or undefined. `retries` is how many count so far. */
export function retryBlocker(
	run: RequestRun,
	{ isKeyLost, isSent, hasResponse, redirectedTo }: Attempt,
	error: unknown,
	retries: number,
): StopReason | undefined {
	const { options, settings, request, idempotencyKey } = run.plan
	if (retries >= settings.maxRetries) return undefined
	if (retries >= (options.maxRetries ?? Infinity)) return 'retries-exhausted'
	const veto = findVeto(error, settings)
	if (veto) return veto
	const hasKey = idempotencyKey !== undefined && !isKeyLost
	const isRepeatable =
		options.idempotent ?? (hasKey || isIdempotentMethod(request.method) || isDeclaredIdempotent(run))
	// The server that sent a redirect has seen the request. A timeout may expire before anything is sent.
	const hasArrived = hasResponse || redirectedTo !== undefined
	const mayBeProcessed = isSent && (hasArrived || !isUnprocessed(error))
	if (!isRepeatable && mayBeProcessed) return 'not-idempotent'
	const isBodySent = run.isSent && (request.isSingleUse || !isReplayable(request.body))
	return isBodySent ? 'body-used' : undefined
}

/** Returns how the response says that it does not want a retry, or undefined if it does not. */
function findVeto(error: unknown, { vetoes }: HttpSettings): StopReason | undefined {
	if (!(error instanceof HttpStatusError)) return undefined
	const headers = headersOf(error.response)
	if (areRetriesExhausted(headers)) return 'inner-retry'
	for (const [name, value] of vetoes)
		if (headers.get(name)?.trim().toLowerCase() === value) return 'server-veto'
	return HttpStatusError.factsOf(error).isTooLong ? 'retry-after' : undefined
}

/** Returns true if the user's function says that the request may be sent twice. */
function isDeclaredIdempotent({ plan, body }: RequestRun): boolean {
	const { url, method } = plan.request
	const { idempotent } = plan.settings
	if (!idempotent) return false
	return requireSync('idempotent', idempotent({ url, method, headers: new Headers(plan.headers), body }))
}

const HINTS: { readonly [reason in StopReason]?: string } = {
	'body-used':
		'not retried: the request body is a stream and was already sent. Pass body: () => a new stream',
	'not-idempotent':
		"not retried: the request has no idempotency key. Pass yaoki.idempotencyKey, or idempotency: 'auto'",
}

/** Returns why a request that could have been retried was not, and how to change that. */
export function stopHint(
	{ stop, options }: Call,
	error: unknown,
	maxRetryAfterMs: number,
): string | undefined {
	if (error instanceof HttpStatusError && error.retryAfterMs !== undefined) {
		const asked = `not retried: server asked for ${formatMs(error.retryAfterMs)}`
		if (stop === 'retry-after') return `${asked}, maxRetryAfterMs is ${formatMs(maxRetryAfterMs)}`
		if (stop === 'deadline') {
			error.remainingMs = Math.floor(options?.deadline?.remainingMs ?? 0)
			return `${asked}, ${formatMs(error.remainingMs)} left`
		}
	}
	return stop && HINTS[stop]
}

/**
 * Adds the hint to an error. The toolkit's own errors get another message and keep their class. A foreign
 * error becomes the cause of a new one, but only if the body prevented the retry: code that inspects the
 * class, code or message of network errors of a POST keeps working, and `explain` has the hint.
 */
export function withHint(error: unknown, call: Call, hint: string | undefined): unknown {
	if (!hint) return error
	if (error instanceof YaokiError) {
		setMessage(error, `${error.message} (${hint})`)
		return error
	}
	if (call.stop !== 'body-used') return error
	const wrapped = new TypeError(`${reduceUrls(safeMessage(error))} (${hint})`, { cause: error })
	attachRecord(wrapped, call)
	return wrapped
}
