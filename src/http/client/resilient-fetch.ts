import { reportAsResult } from '../../core/engine/call-record.ts'
import type { PolicyListener } from '../../core/events/events.ts'
import type { Inspectable } from '../../core/observe/inspection.ts'
import { isObject } from '../../core/options/schema.ts'
import {
	FETCH_SCHEMA,
	type HttpOptions,
	type HttpSettings,
	type ResponseLimitOptions,
	readHttpOptions,
} from '../options/http-options.ts'
import type { RequestHooks } from '../options/request-hooks.ts'
import { type ResilientRequestInit, readRequestOptions } from '../options/request-options.ts'
import { isFetchScheme } from '../origin/origin-parser.ts'
import { BufferedBody } from '../transport/buffered-body.ts'
import {
	canFollow,
	currentFetch,
	followByFetch,
	hasOriginBoundHeader,
	markResilientFetch,
	showsRedirects,
} from '../transport/fetch-transport.ts'
import { BODY_ALREADY_READ, isBodyUsed, type PreparedRequest } from '../transport/request.ts'
import { HttpEngine } from './http-engine.ts'

/** Options of `resilientFetch`. */
export interface ResilientFetchOptions extends HttpOptions, ResponseLimitOptions, RequestHooks {
	/** The `fetch` that sends the requests. Default: the global one, looked up for each request. */
	readonly fetch?: typeof fetch | undefined
}

/**
 * A `fetch` with additional options in its init, which `resilientFetch` returns. It can be passed wherever a
 * `fetch` is expected.
 */
export interface ResilientFetch extends Inspectable {
	(input: string | URL | Request, init?: ResilientRequestInit): Promise<Response>
	/** Subscribes to every event of every origin, its `key`. Returns a function that unsubscribes. */
	subscribe(listener: PolicyListener): () => void
}

/**
 * Creates a `fetch` with retries, a circuit breaker per origin, Retry-After support and timeouts. It has the
 * signature of `fetch` and resolves with any final status. `explain(response)` shows all attempts.
 *
 * @example
 * const fetch = resilientFetch({ timeout: 2_000, maxRetries: 2 })
 * const response = await fetch('https://api.example.com/users/7')
 * console.log(response.status, String(explain(response)))
 */
export function resilientFetch(options: ResilientFetchOptions = {}): ResilientFetch {
	const settings = readHttpOptions(options, FETCH_SCHEMA, 'resilientFetch')
	const engine = new HttpEngine(settings, {
		onFailedStatus(error) {
			reportAsResult(error)
			return error.response
		},
		isAllowedScheme: isFetchScheme,
	})
	const { fetch: given } = options
	const plainFetch = (): typeof globalThis.fetch => given ?? currentFetch()
	const send: PreparedRequest['send'] = (url, init) => plainFetch()(url, init)
	const areVisible = showsRedirects()
	const follow: PreparedRequest['follow'] = areVisible
		? (response, url, init) => followByFetch(response, url, init, plainFetch())
		: undefined
	const resilient = (input: string | URL | Request, init?: ResilientRequestInit): Promise<Response> => {
		try {
			const requestOptions = readRequestOptions(init?.yaoki, settings.maxRetries)
			const given = isRequest(input) ? input : undefined
			const request = given
				? prepareRequest(given, init, plainFetch, settings, areVisible)
				: prepareUrl(String(input), init, send, follow)
			// As in `fetch`, null removes the signal of the Request.
			const { signal = given?.signal } = init ?? NO_INIT
			// A `fetch` returns real responses.
			return engine.send(request, requestOptions, signal ?? undefined) as Promise<Response>
		} catch (error) {
			return Promise.reject(error)
		}
	}
	const fetch: ResilientFetch = Object.assign(resilient, {
		subscribe: (listener: PolicyListener) => engine.subscribe(listener),
		'~observable': () =>
			engine.observation(
				() => engine.stats,
				(runtime) => resilientFetch({ ...options, runtime }),
			),
	})
	return markResilientFetch(fetch, given)
}

/** Checks the shape, because a Request may be of another class than the runtime's. */
const isRequest = (input: string | URL | Request): input is Request => isObject(input) && 'headers' in input

const NO_INIT: ResilientRequestInit = {}

function prepareUrl(
	url: string,
	init: ResilientRequestInit | undefined,
	send: PreparedRequest['send'],
	follow: PreparedRequest['follow'],
): PreparedRequest {
	const { method = 'GET', headers, body } = init ?? NO_INIT
	if (isBodyUsed(body)) throw new TypeError(BODY_ALREADY_READ)
	return {
		url,
		method: method.toUpperCase(),
		headers,
		body,
		init: platformInit(init),
		isSingleUse: false,
		send,
		follow: canFollow(init?.redirect, init?.integrity) ? follow : undefined,
	}
}

/** Prepares a `Request`. The platform follows its redirects unless they `areVisible`. */
function prepareRequest(
	request: Request,
	init: ResilientRequestInit | undefined,
	plainFetch: () => typeof fetch,
	{ onRequest, idempotencyHeader, maxRetries }: HttpSettings,
	areVisible: boolean,
): PreparedRequest {
	const { method = request.method, headers = request.headers, body } = init ?? NO_INIT
	// As in `fetch`, a null body does not remove the body of the Request.
	const hasBody = (body ?? null) === null && request.body !== null
	if (hasBody && (request.bodyUsed || isBodyUsed(request.body))) throw new TypeError(BODY_ALREADY_READ)
	const { redirect = request.redirect, integrity = request.integrity } = init ?? NO_INIT
	const ownBody = hasBody ? new BufferedBody(request, maxRetries > 0) : undefined
	const isBound = onRequest !== undefined || hasOriginBoundHeader(new Headers(headers), idempotencyHeader)
	const follow: PreparedRequest['follow'] =
		areVisible && canFollow(redirect, integrity)
			? (response, url, init) =>
					followByFetch(response, url, init, plainFetch(), ownBody?.isSingleUse || undefined)
			: undefined
	return {
		url: request.url,
		method: method.toUpperCase(),
		headers,
		body: ownBody ? ownBody.read : body,
		init: platformInit(init),
		ownBody,
		get isSingleUse() {
			return ownBody?.isSingleUse === true
		},
		send(_, init) {
			const { body: sent, ...rest } = init
			return plainFetch()(request, sent === undefined ? rest : init)
		},
		// `fetch` can send a body that was not kept again after a redirect, and this function cannot.
		get follow() {
			return isBound || !ownBody?.isSingleUse ? follow : undefined
		},
	}
}

/** Returns the init for the plain `fetch`. */
function platformInit(init: ResilientRequestInit | undefined): RequestInit | undefined {
	if (!init) return undefined
	const { yaoki: _, ...rest } = init
	return rest as RequestInit
}
