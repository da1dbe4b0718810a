/**
 * Returns cached responses while the circuit is open. It is a layer around the breaker and not a catch around
 * the call, so that events and `explain` report it like any other fallback. Other failures are not replaced;
 * for them there is `fallback`.
 */
import type { BoundLayer, Call } from '../../core/engine/call.ts'
import type { Step } from '../../core/engine/layer.ts'
import { type Emit, LeafPolicy, type ObservableLayer } from '../../core/engine/policy.ts'
import { CircuitOpenError } from '../../core/errors/errors.ts'
import { errorFacts } from '../../core/events/error-facts.ts'
import { attachRecord } from '../../core/explain/record.ts'
import { requestHeader } from '../headers/request-headers.ts'
import { runOf } from '../request/request-run.ts'
import type { PreparedRequest } from '../transport/request.ts'
import type { HttpResponse } from '../transport/response.ts'
import type { CachedRequest } from './cacheability.ts'
import { cachedResponse } from './cached-response.ts'
import { readWhole } from './read-body.ts'
import type { ResponseCache } from './response-cache.ts'

class CacheLayer implements ObservableLayer {
	readonly cache: ResponseCache
	emit: Emit | undefined

	constructor(cache: ResponseCache) {
		this.cache = cache
	}

	enter(call: Call, bound: BoundLayer): Step {
		return call.enterLayer(bound)
	}

	leave(call: Call, bound: BoundLayer): Step {
		const { value: error } = call
		if (call.ok || call.isAborted || !(error instanceof CircuitOpenError)) return 'continue'
		const now = bound.runtime.now()
		const entry = this.cache.find(cachedRequest(runOf(call).plan.request), now)
		if (!entry) return 'continue'
		this.emit?.(call, bound, { type: 'fallback', ...errorFacts(error) })
		call.rareState.keepsRecord = true
		call.classify(bound)
		call.rareState.isSubstituted = true
		call.ok = true
		call.stop = undefined
		call.value = cachedResponse(entry, now - entry.storedAt)
		attachRecord(call.value, call)
		return 'continue'
	}
}

/** The cache as the outermost policy of an origin. */
class CachePolicy extends LeafPolicy {}

export const cachePolicy = (cache: ResponseCache): LeafPolicy =>
	new CachePolicy('cache', {}, new CacheLayer(cache))

/** Returns the part of a request that the cache needs. The caller's headers identify the principal. */
export function cachedRequest(request: PreparedRequest, generation?: number): CachedRequest {
	const { method, url, headers, principal, clientHeaders } = request
	const lookup = { get: (name: string) => requestHeader(headers, name) }
	return { method, url, headers: lookup, principal, clientHeaders, generation }
}

/** Stores a cacheable response, and returns the response for the caller, whose body is unread. */
export async function storeResponse(
	cache: ResponseCache,
	request: CachedRequest,
	response: HttpResponse,
	now: () => number,
): Promise<HttpResponse> {
	if (!cache.isWanted(request, response, now())) return response
	const { bytes, response: unread } = await readWhole(response, cache.maxBodyBytes)
	const { status, statusText, url, headers, redirected } = unread
	if (bytes) cache.store(request, { status, statusText, url, headers, redirected, bytes }, now())
	return unread
}
