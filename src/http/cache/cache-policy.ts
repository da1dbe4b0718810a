/**
 * Answers from the cache while the circuit is open. A layer around the breaker and not a catch around the call, so that what answered
 * is told in events and in `explain` as of any other fallback. Other failures are not answered for: they are news, and who
 * wants to hide them has `fallback`.
 */
import type { BoundLayer, Call } from '../../core/engine/call.ts'
import { GO, type Step } from '../../core/engine/layer.ts'
import { type Emit, LeafPolicy, type ObservableLayer } from '../../core/engine/policy.ts'
import { CircuitOpenError } from '../../core/errors/errors.ts'
import { errorFacts } from '../../core/events/error-facts.ts'
import { attachRecord } from '../../core/explain/record.ts'
import { httpCallOf } from '../request/http-call.ts'
import { cachedResponse } from './cached-response.ts'
import type { ResponseCache } from './response-cache.ts'
import { cachedRequest } from './store-response.ts'

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
		if (call.ok || call.isAborted || !(error instanceof CircuitOpenError)) return GO
		const now = bound.runtime.now()
		const kept = this.cache.find(cachedRequest(httpCallOf(call).request), now)
		if (!kept) return GO
		this.emit?.(call, bound, { type: 'fallback', ...errorFacts(error) })
		call.rareState.keepsRecord = true
		call.classify(bound)
		call.rareState.isSubstituted = true
		call.ok = true
		call.stop = undefined
		call.value = cachedResponse(kept, now - kept.at)
		attachRecord(call.value, call)
		return GO
	}
}

/** The cache as the outermost policy of a lane. */
export class CachePolicy extends LeafPolicy {
	constructor(cache: ResponseCache) {
		super('cache', {}, new CacheLayer(cache))
	}
}
