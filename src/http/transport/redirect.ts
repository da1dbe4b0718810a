/**
 * Where a redirect leads and what is sent there, by the rules of `fetch`. undici has an interceptor for it, but that one
 * has rules of its own, and a user who changes the transport should not find that another host is sent the cookies.
 */
import type { WireRequest } from './wire-request.ts'

/** Statuses that send the caller elsewhere. */
export const isRedirect = (status: number): boolean =>
	status >= 301 && status <= 308 && status !== 304 && status !== 305 && status !== 306

/** They describe a body that is not sent any more. */
const OF_THE_BODY = /^content-(encoding|language|location|type|length)$/

/** They are meant for one host. */
const OF_THE_HOST = /^(authorization|proxy-authorization|cookie|host)$/

export interface Hop {
	readonly url: string
	readonly request: WireRequest
}

/** The request that a redirect asks for. Throws a TypeError where `fetch` would not follow. */
export function nextHop(from: string, sent: WireRequest, status: number, location: string): Hop {
	const base = new URL(from)
	if (!URL.canParse(location, base.href)) throw new TypeError('redirected to what is not a URL')
	const to = new URL(location, base)
	if (!/^https?:$/.test(to.protocol)) throw new TypeError(`redirected to ${to.protocol}, which is not HTTP`)
	const isElsewhere = to.origin !== base.origin
	if (isElsewhere && (to.username || to.password))
		throw new TypeError('redirected to another origin with credentials in the URL')
	if (sent.isSingleUse && status !== 303)
		throw new TypeError('redirected, but the body was a stream and can not be sent again')

	const isGetNow =
		status === 303 ? sent.method !== 'GET' && sent.method !== 'HEAD' : status <= 302 && sent.method === 'POST'
	const { headers } = sent
	const kept = headers.filter((_, i) => {
		const name = headers[i - (i % 2)] ?? ''
		return !(isElsewhere && OF_THE_HOST.test(name)) && !(isGetNow && OF_THE_BODY.test(name))
	})
	const request: WireRequest = isGetNow
		? { method: 'GET', headers: kept, body: null, isSingleUse: false }
		: { ...sent, headers: kept }
	return { url: to.href, request }
}

/** Failures behind a redirect: the server that sent the redirect has seen the request. */
const processed = new WeakSet<object>()

/** Says of a failure that the request may have been processed, whatever it looks like, and gives it back. */
export function markProcessed(error: unknown): unknown {
	if (typeof error === 'object' && error !== null) processed.add(error)
	return error
}

/** Is this a failure behind a redirect? */
export const isProcessed = (error: unknown): boolean => processed.has(Object(error))
