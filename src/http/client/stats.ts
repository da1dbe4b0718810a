import type { BulkheadStats } from '../../core/bulkhead/bulkhead.ts'
import type { CircuitStats } from '../../core/circuit-breaker/stats.ts'
import type { CacheStats } from '../cache/response-cache.ts'
import type { OriginPipeline } from './origin-pipeline.ts'

/** What is known of one origin at present. */
export interface OriginStats {
	readonly circuit: CircuitStats | undefined
	readonly bulkhead: BulkheadStats | undefined
	/** How many retries the budget would allow now. */
	readonly retriesAvailable: number | undefined
	/** For how long it asked to be left alone; 0 when it did not. */
	readonly heldForMs: number
	/** Requests that wait for the head of their response. */
	readonly inFlight: number
}

/** What a client has done, and how its origins are. */
export interface HttpClientStats {
	/** Logical requests. */
	readonly requests: number
	/** Of these, those that ended in an error. */
	readonly failures: number
	/** What was sent: first attempts, retries and hedges. */
	readonly attempts: number
	readonly cache: CacheStats | undefined
	readonly origins: Readonly<Record<string, OriginStats>>
}

export const statsOf = ({ origin, breaker, bulkhead, budget }: OriginPipeline): OriginStats => ({
	circuit: breaker?.stats,
	bulkhead: bulkhead?.stats,
	retriesAvailable: budget?.available(),
	heldForMs: Math.ceil(origin.heldForMs),
	inFlight: origin.inFlight,
})
