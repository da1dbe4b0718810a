/**
 * Sends requests with `fetch`, and follows redirects here. The platform follows them invisibly: an API key
 * would reach the next origin, a pause of that origin would be taken for one of the first, and a connection
 * failure after a redirect would look as if nothing had been sent. Requests are sent with
 * `redirect: 'manual'`, which costs nothing. Browsers hide redirects, so there the platform follows them.
 */
import { isOriginBound } from '../headers/request-headers.ts'
import { page } from './browser.ts'
import { followRedirect, MAX_REDIRECTS, redirectObserverOf, type WireRequest } from './redirect.ts'
import { isStream, type TransportInit } from './request.ts'
import { type HttpResponse, isRedirect } from './response.ts'

type Fetch = typeof globalThis.fetch

/** Returns true if the runtime shows redirects. Call it once: a lookup per request costs. */
export const showsRedirects = (): boolean => page()?.origin === undefined

/** Returns true if redirects can be followed here. `fetch` must compare `integrity` with the final body. */
export const canFollow = (redirect: RequestRedirect = 'follow', integrity = ''): boolean =>
	redirect === 'follow' && integrity === ''

/** Dropped by `fetch` itself. */
const DROPPED_BY_FETCH = /^(authorization|cookie|proxy-authorization)$/

/** Returns true if one of the headers must not be sent to another origin, although `fetch` would send it. */
export const hasOriginBoundHeader = (headers: Headers, idempotencyHeader: string): boolean =>
	[...headers.keys()].some((name) => !DROPPED_BY_FETCH.test(name) && isOriginBound(name, idempotencyHeader))

/** Follows the redirects that begin with this response, as `fetch` does. `url` and `init` are its request. */
export async function followByFetch(
	first: HttpResponse,
	url: string,
	init: TransportInit,
	fetch: Fetch,
	isSingleUse: boolean = isStream(init.body),
): Promise<HttpResponse> {
	const headers = [...new Headers(init.headers)]
	let request: WireRequest = { method: init.method, headers, body: init.body, isSingleUse }
	let from = url
	let response = first
	for (let redirects = 0; ; redirects++) {
		const location = isRedirect(response.status) ? response.headers.get('location') : null
		if (location === null)
			return redirects
				? Object.defineProperty(response, 'redirected', { value: true, configurable: true })
				: response
		// Not awaited: a slow body must not delay the next request.
		void response.body?.cancel().catch(() => {})
		// The message of `fetch`.
		if (redirects >= MAX_REDIRECTS) throw new TypeError('redirect count exceeded')
		const { status, url: answered } = response
		const observer = redirectObserverOf(init)
		const next = followRedirect(answered || from, request, status, location, observer, init.signal)
		;({ url: from, request } = next)
		await next.pause
		const { method, headers, body } = request
		response = await fetch(from, { ...init, method, headers, body: body as BodyInit | null })
	}
}

/** Where a resilient fetch stores the plain `fetch` it uses. Registered, for other copies of the package. */
const PLAIN_FETCH = Symbol.for('yaoki.resilientFetch')

/**
 * Returns the global `fetch`. It is looked up for each request, because tests and tools replace it. If the
 * global is a resilient fetch, the plain `fetch` below it is returned: calling it would recurse, or multiply
 * retries.
 */
export const currentFetch = (): Fetch => {
	const { fetch } = globalThis
	const plain: unknown = Object(fetch)[PLAIN_FETCH]
	return typeof plain === 'function' ? (plain as Fetch) : fetch
}

/** Stores on a resilient fetch the plain `fetch` it uses, in case the user installs it as the global one. */
export const markResilientFetch = <F extends object>(fetch: F, given: Fetch | undefined): F =>
	Object.defineProperty(fetch, PLAIN_FETCH, { value: given ?? currentFetch() })
