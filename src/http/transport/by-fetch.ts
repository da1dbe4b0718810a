/**
 * `fetch` follows redirects unseen, and a connection that fails behind one looks as though nothing had been sent at all. For a
 * request that must not be done twice that is the difference between a retry and a second order: so its first redirect
 * is followed here, and what fails afterwards is marked. In a page the platform hides redirects, and its errors say too
 * little to be taken for certain anyway.
 */
import { isStream } from '../exchange/body.ts'
import { isIdempotentMethod, markProcessed } from '../exchange/repeat.ts'
import { pageOrigin } from '../origin/origins.ts'
import { isRedirect, nextHop } from './redirect.ts'
import type { TransportInit } from './transport.ts'

type Send = (url: string, init: RequestInit) => Promise<Response>

/** Sends a request by `first`, and where a redirect leads by `then`. */
export function byFetch(
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
	const sent = { method, headers, body, isOnce: isStream(body) }
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
