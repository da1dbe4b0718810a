/**
 * Sends requests with `fetch`. `fetch` follows redirects invisibly, and a connection failure after a redirect looks as if nothing had
 * been sent. For a request that must not be executed twice this matters: its first redirect is followed here, and later errors
 * are marked. Browsers hide redirects, and their errors are too vague to prove that nothing was sent.
 */
import { isIdempotentMethod } from './methods.ts'
import { pageOrigin } from './page.ts'
import { followRedirect, isRedirect, markAfterRedirect } from './redirect.ts'
import { isStream } from './request-body.ts'
import type { TransportInit } from './transport.ts'

type Send = (url: string, init: RequestInit) => Promise<Response>

/** Sends a request with `first`, and requests after a redirect with `next`. */
export function sendByFetch(
	url: string,
	init: TransportInit,
	first: Send,
	next: Send = first,
): Promise<Response> {
	const { method, redirect = 'follow' } = init
	const isDirect = redirect !== 'follow' || isIdempotentMethod(method) || pageOrigin() !== undefined
	return isDirect ? first(url, init) : sendAndFollow(url, init, first, next)
}

async function sendAndFollow(url: string, init: TransportInit, first: Send, next: Send): Promise<Response> {
	const response = await first(url, { ...init, redirect: 'manual' })
	const location = isRedirect(response.status) ? response.headers.get('location') : null
	if (location === null) return response
	const { method, body } = init
	await response.body?.cancel()
	const headers = [...new Headers(init.headers)].flat()
	const sent = { method, headers, body, isSingleUse: isStream(body) }
	const redirect = followRedirect(response.url || url, sent, response.status, location)
	const { request } = redirect
	const pairs = Array.from({ length: request.headers.length / 2 }, (_, i): [string, string] => [
		request.headers[2 * i] ?? '',
		request.headers[2 * i + 1] ?? '',
	])
	try {
		const final = await next(redirect.url, {
			...init,
			method: request.method,
			headers: pairs,
			body: request.body as BodyInit | null,
		})
		return Object.defineProperty(final, 'redirected', { value: true, configurable: true })
	} catch (error) {
		throw markAfterRedirect(error)
	}
}

type Fetch = typeof globalThis.fetch

/** Under this symbol a resilient fetch stores the plain `fetch` it uses. Registered, so that other copies of the package find it. */
const PLAIN_FETCH = Symbol.for('yaoki.resilientFetch')

/**
 * Returns the global `fetch`. It is looked up for each request, because tests and tools replace it. If the global is a resilient fetch,
 * the plain `fetch` below it is returned: calling it would recurse, or multiply retries.
 */
export const currentFetch = (): Fetch => {
	const { fetch } = globalThis
	const plain: unknown = Object(fetch)[PLAIN_FETCH]
	return typeof plain === 'function' ? (plain as Fetch) : fetch
}

/** Stores on a resilient fetch the plain `fetch` it uses, in case the user installs it as the global one. */
export const markResilientFetch = <F extends object>(fetch: F, given: Fetch | undefined): F =>
	Object.defineProperty(fetch, PLAIN_FETCH, { value: given ?? currentFetch() })
