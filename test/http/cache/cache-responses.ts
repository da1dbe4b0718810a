/** Short helpers for requests and responses of cache tests. */

import type { CachedRequest } from '../../../src/http/cache/cacheability.ts'
import type { CachedEntry, ResponseCache, WholeResponse } from '../../../src/http/cache/response-cache.ts'

export const URL_A = 'https://api.example.com/a'

export const get = (headers: HeadersInit = {}, url = URL_A, method = 'GET'): CachedRequest => ({
	method,
	url,
	headers: new Headers(headers),
})

export const answer = (text: string, headers: HeadersInit = {}, status = 200): WholeResponse => ({
	status,
	statusText: 'OK',
	url: URL_A,
	headers: new Headers(headers),
	bytes: new TextEncoder().encode(text),
})

export const textOf = (kept: CachedEntry | undefined): string | undefined =>
	kept && new TextDecoder().decode(kept.bytes)

/** What is found at this time. */
export const found = (cache: ResponseCache, request: CachedRequest, now = 0): string | undefined =>
	textOf(cache.find(request, now))
