/**
 * An answer from memory, given out as what it is. People read `Cache-Status` (RFC 9211) and `Age` in their logs; code asks `isCachedResponse`,
 * since a header can come from anywhere, also from a server that was answered from such a memory itself.
 */
import { rebuildResponse } from './rebuild-response.ts'
import type { CachedEntry } from './response-cache.ts'

/** About a connection that no longer is. */
const OF_THE_CONNECTION = ['connection', 'keep-alive', 'transfer-encoding'] as const
const OF_THE_BODY = ['content-encoding', 'content-length'] as const

const TOKEN = /^[A-Za-z*][\w!#$%&'*+.^`|~:/-]*$/
const SECONDS = /^\d{1,10}$/

const cached = new WeakSet<object>()

/**
 * Was this response given out from memory?
 *
 * @example
 * const response = await client.request('https://api.example.com/rates')
 * if (isCachedResponse(response)) console.log(`rates are ${response.headers.get('age')} s old`)
 */
export function isCachedResponse(response: object): boolean {
	return cached.has(response)
}

/** A new response over kept bytes, marked with its age and with why it was not asked for anew. */
export function cachedResponse(kept: CachedEntry, ageMs: number, detail = 'circuit-open'): Response {
	const headers = new Headers()
	for (const [name, value] of kept.headers) headers.append(name, value)
	for (const name of OF_THE_CONNECTION) headers.delete(name)
	// A length that fits shows that the bytes are those of the wire. Otherwise they were decoded on the way, and both are wrong.
	if (headers.get('content-length') !== `${kept.bytes.byteLength}`)
		for (const name of OF_THE_BODY) headers.delete(name)
	headers.set('age', `${ageAtArrival(headers) + Math.floor(Math.max(0, ageMs) / 1_000)}`)
	// Behind those of other caches: the last is the one nearest to the caller.
	headers.append('cache-status', `yaoki; hit; detail=${tokenOrString(detail)}`)
	const { status, statusText, url, bytes } = kept
	const response = rebuildResponse(bytes, { status, statusText, url, headers })
	cached.add(response)
	return response
}

/** It may have come from a cache on the way, and had an age already. */
function ageAtArrival(headers: Headers): number {
	const age = headers.get('age') ?? ''
	return SECONDS.test(age) ? Number(age) : 0
}

/** A value of a structured field (RFC 8941); a string there has printable ASCII only. */
const tokenOrString = (text: string): string =>
	TOKEN.test(text) ? text : `"${text.replace(/[^ -~]/g, '?').replace(/["\\]/g, '\\$&')}"`
