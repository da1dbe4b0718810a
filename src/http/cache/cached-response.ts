/**
 * Creates responses from cache entries, marked as cached. `Cache-Status` (RFC 9211) and `Age` are for logs;
 * code calls `isCachedResponse`, because these headers may also come from the server or another cache.
 */
import { rebuildResponse } from '../transport/response.ts'
import type { CachedEntry } from './response-cache.ts'

/** Headers of the original connection. */
const CONNECTION_HEADERS = ['connection', 'keep-alive', 'transfer-encoding'] as const
const BODY_HEADERS = ['content-encoding', 'content-length'] as const

const TOKEN = /^[A-Za-z*][\w!#$%&'*+.^`|~:/-]*$/
const SECONDS = /^\d{1,10}$/

const cached = new WeakSet<object>()

/**
 * Returns true if the response came from the client's cache.
 *
 * @example
 * const response = await client.request('https://api.example.com/rates')
 * if (isCachedResponse(response)) console.log(`rates are ${response.headers.get('age')} s old`)
 */
export function isCachedResponse(response: object): boolean {
	return cached.has(response)
}

/** Marks the copy of a cached response as cached. */
export function inheritCached(copy: object, response: object): void {
	if (cached.has(response)) cached.add(copy)
}

/** Creates a response from an entry, with its age and the reason for using the cache. */
export function cachedResponse(entry: CachedEntry, ageMs: number, detail = 'circuit-open'): Response {
	const headers = new Headers()
	for (const [name, value] of entry.headers) headers.append(name, value)
	for (const name of CONNECTION_HEADERS) headers.delete(name)
	// If the length does not match, the body was decoded on arrival, and both headers are wrong.
	if (headers.get('content-length') !== `${entry.bytes.byteLength}`)
		for (const name of BODY_HEADERS) headers.delete(name)
	headers.set('age', `${receivedAge(headers) + Math.floor(Math.max(0, ageMs) / 1_000)}`)
	// Appended: the last entry is the cache nearest to the caller.
	headers.append('cache-status', `yaoki; hit; detail=${tokenOrString(detail)}`)
	const { status, statusText, url, bytes } = entry
	const response = rebuildResponse(bytes, { status, statusText, url, headers })
	cached.add(response)
	return response
}

/** Returns the age that the response had when it arrived, from a cache on the way. */
function receivedAge(headers: Headers): number {
	const age = headers.get('age') ?? ''
	return SECONDS.test(age) ? Number(age) : 0
}

/** Formats a structured field value (RFC 8941), whose strings are printable ASCII. */
const tokenOrString = (text: string): string =>
	TOKEN.test(text) ? text : `"${text.replace(/[^ -~]/g, '?').replace(/["\\]/g, '\\$&')}"`
