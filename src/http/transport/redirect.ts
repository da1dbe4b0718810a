/**
 * The rules of `fetch` for redirects, except that API keys and idempotency keys are not sent to another
 * origin either.
 */
import type { Call } from '../../core/engine/call.ts'
import { isOriginBound } from '../headers/request-headers.ts'
import { isIdempotentMethod } from './request.ts'

/** A request to one URL; a redirect creates another one. */
export interface WireRequest {
	readonly method: string
	/** Names in lower case. */
	readonly headers: [name: string, value: string][]
	readonly body: unknown
	/** True if the body can be sent once only. */
	readonly isSingleUse: boolean
}

/** Notified of the redirects of an attempt: what another origin responds must not pause the first. */
export interface RedirectObserver {
	/** The header of the idempotency key. */
	readonly idempotencyHeader: string
	/**
	 * The request is sent to another URL, undefined if it is unknown. `isKeyLost` if another origin receives a
	 * request that is unsafe to repeat without its idempotency key. Throws if the circuit or a pause of the
	 * target rejects the request. With the `signal` of the attempt the request waits for a short pause: send it
	 * when the promise has resolved.
	 */
	onRedirect(url: string | undefined, isKeyLost: boolean, signal?: AbortSignal): Promise<void> | undefined
	/** A refresh of the token starts or has ended. Meanwhile a timeout is not a failure of the origin. */
	onRefresh(isPending: boolean): void
	/** The call of the attempt. */
	readonly call: Call | undefined
}

/** The observer in the init of a request. A symbol, because it is not part of the public type. */
export const REDIRECT_OBSERVER: unique symbol = Symbol('yaoki.redirectObserver')

export const redirectObserverOf = (init: object): RedirectObserver | undefined =>
	(init as { readonly [REDIRECT_OBSERVER]?: RedirectObserver })[REDIRECT_OBSERVER]

/** The limit of `fetch`. */
export const MAX_REDIRECTS = 20

/** Dropped together with the body they describe. */
const BODY_HEADERS = /^content-(encoding|language|location|type|length)$/

/** Returns the URL and request of a redirect. Throws a TypeError where `fetch` would not follow. */
export function followRedirect(
	from: string,
	sent: WireRequest,
	status: number,
	location: string,
	observer?: RedirectObserver,
	signal?: AbortSignal,
): { readonly url: string; readonly request: WireRequest; readonly pause: Promise<void> | undefined } {
	const base = new URL(from)
	if (!URL.canParse(location, base.href)) throw new TypeError('Redirect to an invalid URL')
	const target = new URL(location, base)
	if (!/^https?:$/.test(target.protocol))
		throw new TypeError(`Redirect to an unsupported scheme '${target.protocol}'`)
	const isCrossOrigin = target.origin !== base.origin
	if (isCrossOrigin && (target.username || target.password))
		throw new TypeError('Redirect to another origin with credentials in the URL')
	// `fetch` does not send them to the same origin either, and rejects a request for such a URL.
	target.username = ''
	target.password = ''
	if (sent.isSingleUse && status !== 303)
		throw new TypeError('Redirect cannot be followed: the request body is a stream and was already sent')

	const becomesGet =
		status === 303 ? sent.method !== 'GET' && sent.method !== 'HEAD' : status <= 302 && sent.method === 'POST'
	const isDropped = (name: string) =>
		(isCrossOrigin && (name === 'host' || isOriginBound(name, observer?.idempotencyHeader))) ||
		(becomesGet && BODY_HEADERS.test(name))
	const headers = sent.headers.filter(([name]) => !isDropped(name))
	const request: WireRequest = becomesGet
		? { method: 'GET', headers, body: null, isSingleUse: false }
		: { ...sent, headers }
	const isKeyLost = isCrossOrigin && !isIdempotentMethod(request.method)
	return { url: target.href, request, pause: observer?.onRedirect(target.href, isKeyLost, signal) }
}
