import { requestHeader } from '../headers/request-headers.ts'
import type { PreparedRequest } from '../request/http-call.ts'
import type { HttpResponse } from '../transport/transport.ts'
import type { CachedRequest } from './cacheability.ts'
import { readWhole } from './read-body.ts'
import type { ResponseCache } from './response-cache.ts'

/** A request as the cache knows it: the caller's own headers tell whose it is. */
export const cachedRequest = (
	{ method, url, headers }: Pick<PreparedRequest, 'method' | 'url' | 'headers'>,
	generation?: number,
): CachedRequest => ({
	method,
	url,
	headers: { get: (name) => requestHeader(headers, name) },
	generation,
})

/** Reads and keeps an answer that is worth keeping. Answers with what the caller is to read. */
export async function storeResponse(
	cache: ResponseCache,
	request: CachedRequest,
	response: HttpResponse,
	now: () => number,
): Promise<HttpResponse> {
	if (!cache.wants(request, response, now())) return response
	const { bytes, response: whole } = await readWhole(response, cache.maxBodyBytes)
	const { status, statusText, url, headers } = whole
	if (bytes) cache.keep(request, { status, statusText, url, headers, bytes }, now())
	return whole
}
