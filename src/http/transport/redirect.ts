/**
 * Follows redirects by the rules of `fetch`. undici's redirect interceptor has different rules: a user who changes the transport must
 * not send cookies to another host.
 */
import type { WireRequest } from './wire-request.ts'

export const isRedirect = (status: number): boolean =>
	status >= 301 && status <= 308 && status !== 304 && status !== 305 && status !== 306

/** Dropped together with the body they describe. */
const BODY_HEADERS = /^content-(encoding|language|location|type|length)$/

/** Not sent to another origin. */
const ORIGIN_HEADERS = /^(authorization|proxy-authorization|cookie|host)$/

/** Returns the URL and the request that a redirect asks for. Throws a TypeError where `fetch` would not follow. */
export function followRedirect(
	from: string,
	sent: WireRequest,
	status: number,
	location: string,
): { readonly url: string; readonly request: WireRequest } {
	const base = new URL(from)
	if (!URL.canParse(location, base.href)) throw new TypeError(`Redirect to an invalid URL '${location}'`)
	const target = new URL(location, base)
	if (!/^https?:$/.test(target.protocol))
		throw new TypeError(`Redirect to an unsupported scheme '${target.protocol}'`)
	const isCrossOrigin = target.origin !== base.origin
	if (isCrossOrigin && (target.username || target.password))
		throw new TypeError('Redirect to another origin with credentials in the URL')
	if (sent.isSingleUse && status !== 303)
		throw new TypeError('Redirect cannot be followed: the request body is a stream and was already sent')

	const becomesGet =
		status === 303 ? sent.method !== 'GET' && sent.method !== 'HEAD' : status <= 302 && sent.method === 'POST'
	const headers = sent.headers.filter((_, i) => {
		const name = sent.headers[i - (i % 2)] ?? ''
		return !(isCrossOrigin && ORIGIN_HEADERS.test(name)) && !(becomesGet && BODY_HEADERS.test(name))
	})
	const request: WireRequest = becomesGet
		? { method: 'GET', headers, body: null, isSingleUse: false }
		: { ...sent, headers }
	return { url: target.href, request }
}

/** Errors after a redirect: the server that sent the redirect has seen the request. */
const failedAfterRedirect = new WeakSet<object>()

/** Marks an error as one after a redirect, and returns it. */
export function markAfterRedirect(error: unknown): unknown {
	if (typeof error === 'object' && error !== null) failedAfterRedirect.add(error)
	return error
}

export const isAfterRedirect = (error: unknown): boolean => failedAfterRedirect.has(Object(error))
