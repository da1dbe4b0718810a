/**
 * `fetch` follows redirects unseen, and a connection that fails behind one looks as though nothing had been sent at all. For a
 * request that must not be done twice that is the difference between a retry and a second order: so its first redirect
 * is followed here, and what fails afterwards is marked. In a page the platform hides redirects, and its errors say too
 * little to be taken for certain anyway.
 */

import { isIdempotentMethod } from './methods.ts'
import { pageOrigin } from './page.ts'
import { isRedirect, markProcessed, nextHop } from './redirect.ts'
import { isStream } from './request-body.ts'
import type { TransportInit } from './transport.ts'

type Send = (url: string, init: RequestInit) => Promise<Response>

/** Sends a request by `first`, and where a redirect leads by `then`. */
export function sendByFetch(
	url: string,
	init: TransportInit,
	first: Send,
	then: Send = first,
): Promise<Response> {
	const { method, redirect = 'follow' } = init
	const isPlain = redirect !== 'follow' || isIdempotentMethod(method) || pageOrigin() !== undefined
	return isPlain ? first(url, init) : followed(url, init, first, then)
}

async function followed(url: string, init: TransportInit, first: Send, then: Send): Promise<Response> {
	const response = await first(url, { ...init, redirect: 'manual' })
	const location = isRedirect(response.status) ? response.headers.get('location') : null
	if (location === null) return response
	const { method, body } = init
	await response.body?.cancel()
	const headers = [...new Headers(init.headers)].flat()
	const sent = { method, headers, body, isSingleUse: isStream(body) }
	const { url: next, request } = nextHop(response.url || url, sent, response.status, location)
	const pairs = Array.from({ length: request.headers.length / 2 }, (_, i): [string, string] => [
		request.headers[2 * i] ?? '',
		request.headers[2 * i + 1] ?? '',
	])
	try {
		const answer = await then(next, {
			...init,
			method: request.method,
			headers: pairs,
			body: request.body as BodyInit | null,
		})
		return Object.defineProperty(answer, 'redirected', { value: true, configurable: true })
	} catch (error) {
		throw markProcessed(error)
	}
}

type Fetch = typeof globalThis.fetch

/** Where one of ours says what it sends with, which is never one of ours. Other copies of the package know it, too. */
const SENDER = Symbol.for('yaoki.resilientFetch')

/** What sends a request at present. */
export const currentFetch = (): Fetch => underneath(globalThis.fetch)

/** Says of a `fetch` that was made here what it sends with, should it be put in the place of the runtime's. */
export const markResilientFetch = <F extends object>(fetch: F, given: Fetch | undefined): F =>
	Object.defineProperty(fetch, SENDER, { value: given ?? currentFetch() })

function underneath(fetch: Fetch): Fetch {
	const sender: unknown = Object(fetch)[SENDER]
	return typeof sender === 'function' ? (sender as Fetch) : fetch
}
