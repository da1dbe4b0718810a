/**
 * Decides which responses may be cached, and by which key. If a header cannot be understood, the response is
 * not cached: a miss costs an error that would occur anyway, but a wrong hit would show one user the data of
 * another.
 */
import { CREDENTIAL_HEADERS, HEADER_NAME } from '../headers/request-headers.ts'

/** The part of a request that its response may depend on. `get` is called with lower-case names. */
export interface CachedRequest {
	readonly method: string
	readonly url: string
	readonly headers: { get(name: string): string | null }
	/** The user that the request belongs to, if the caller's `principal` function knows. */
	readonly principal?: string | undefined
	/** The headers that the client sets, as text. Servers rarely name the header of a tenant in Vary. */
	readonly clientHeaders?: string | undefined
	/** The cache's generation when the request was sent; undefined means the current one. */
	readonly generation?: number | undefined
}

/** The part of a response that is known before its body is read. */
export interface ResponseHead {
	readonly status: number
	readonly headers: Headers
	readonly redirected?: boolean
}

/**
 * Always part of the key, whatever Vary says: headers with credentials, which servers rarely name in Vary,
 * and Range, because a part is not the whole.
 */
const KEY_HEADERS: readonly string[] = /* @__PURE__ */ CREDENTIAL_HEADERS.concat('range')

/** A server that names more headers, in one or several responses, varies by something else. */
export const MAX_VARY_NAMES = 32

// Also matches inside quotes or longer names, which errs on the side of not caching.
const NO_STORE = /\bno-store\b/i
const PRIVATE = /\bprivate\b/i
const NO_CACHE = /\bno-(store|cache)\b/i

/** Returns the URL as the server receives it. */
export function withoutFragment(url: string): string {
	const end = url.indexOf('#')
	return end < 0 ? url : url.slice(0, end)
}

const isGet = ({ method }: CachedRequest): boolean => method.toUpperCase() === 'GET'

/** Returns true if the request may change the response to a later GET of the same URL. */
export const isUnsafe = ({ method }: CachedRequest): boolean => !/^(GET|HEAD|OPTIONS|TRACE)$/i.test(method)

/** Returns true if the resource is gone or forbidden for this principal: the cache must not hide that. */
export const isWithdrawn = ({ status }: ResponseHead): boolean => [401, 403, 404, 410, 451].includes(status)

/** Returns true if the caller accepts a cached response: not with `no-cache` or `no-store`. */
export const acceptsCached = (request: CachedRequest): boolean =>
	isGet(request) &&
	!NO_CACHE.test(request.headers.get('cache-control') ?? '') &&
	!NO_CACHE.test(request.headers.get('pragma') ?? '')

/** Returns true if the key of this request contains a credential, so that no other user has the same key. */
const hasPrincipal = ({ principal, headers }: CachedRequest): boolean =>
	principal !== undefined || CREDENTIAL_HEADERS.some((name) => Boolean(headers.get(name)))

/**
 * Returns true if the response to this GET may be cached, judged by its head. `Cache-Control: private` may if
 * a credential separates the user from others. Responses with Set-Cookie may not: each cached response would
 * set the cookie again. Redirected ones may not: what the redirect depends on, and whether it may be stored,
 * is unknown.
 */
export function isStorable(
	request: CachedRequest,
	{ status, headers, redirected = false }: ResponseHead,
): boolean {
	const cacheControl = headers.get('cache-control') ?? ''
	return (
		!redirected &&
		isGet(request) &&
		status >= 200 &&
		status < 300 &&
		status !== 206 &&
		!headers.has('set-cookie') &&
		!NO_STORE.test(cacheControl) &&
		(!PRIVATE.test(cacheControl) || hasPrincipal(request)) &&
		!NO_STORE.test(request.headers.get('cache-control') ?? '')
	)
}

/**
 * Returns the names in Vary in lower case, without those that are always part of the key. Returns undefined
 * for `*` and for invalid header names (`Headers.get` throws for these): what the response depends on is
 * unknown then.
 */
export function varyNames(headers: Headers): readonly string[] | undefined {
	const vary = headers.get('vary')
	if (!vary) return []
	const names = new Set<string>()
	for (const listed of vary.split(',')) {
		const name = listed.trim().toLowerCase()
		if (name === '*' || (name && !HEADER_NAME.test(name))) return undefined
		if (name && !KEY_HEADERS.includes(name)) names.add(name)
	}
	return names.size > MAX_VARY_NAMES ? undefined : [...names]
}

/**
 * Returns the key that separates responses of one URL. It contains the credentials themselves: with a short
 * hash a collision could return another user's response, a cryptographic hash is only available
 * asynchronously, and a memory dump contains the responses as well. JSON, because a separator in a value
 * could forge a plain join, and a missing header differs from an empty one.
 */
export const variantKey = (
	{ headers, principal, clientHeaders }: CachedRequest,
	names: readonly string[],
): string =>
	JSON.stringify([principal, clientHeaders, ...[...KEY_HEADERS, ...names].map((name) => headers.get(name))])
