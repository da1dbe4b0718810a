/** The policies of a service config as options of core's policies. */
import type { BackoffOptions } from '../../core/backoff/options.ts'
import type { Call } from '../../core/engine/call.ts'
import type { HedgeOptions } from '../../core/hedge/options.ts'
import type { GrpcHedgingPolicy, GrpcRetryPolicy } from '../service-config/service-config.ts'

/** The backoff is multiplied by a random number from 0.8 to 1.2. */
const LOWEST_JITTER = 0.8
/** The same as a share of the lowest backoff, which core's formula adds at most. */
const JITTER_FACTOR = 0.5
/** The last delay of a list repeats: by then a shrinking delay is next to nothing. */
const MAX_LISTED = 1_000

/** Returns the number of retries and their delays. */
export function backoffOptions(policy: GrpcRetryPolicy): BackoffOptions {
	const { maxAttempts, initialBackoffMs, maxBackoffMs, backoffMultiplier } = policy
	const maxRetries = maxAttempts - 1
	const lowestMs = (retry: number): number =>
		LOWEST_JITTER * Math.min(initialBackoffMs * backoffMultiplier ** retry, maxBackoffMs)
	const length = Math.min(maxRetries, MAX_LISTED)
	return {
		maxRetries,
		// `initialBackoff` may be longer than `maxBackoff`, which limits it too.
		baseDelayMs: lowestMs(0),
		maxDelayMs: LOWEST_JITTER * maxBackoffMs,
		// Core's exponential growth does not shrink.
		...(backoffMultiplier < 1
			? { growth: Array.from({ length }, (_, retry) => lowestMs(retry)) }
			: { factor: backoffMultiplier }),
		jitterStrategy: 'proportional',
		jitterFactor: JITTER_FACTOR,
	}
}

/** Returns how many backoffs there were since the server last asked for a wait: after that the backoff begins again. */
export function backoffsSincePushback({ lastAttempt }: Call): number {
	let count = 0
	for (let entry = lastAttempt?.previous; entry?.delaySource === 'backoff'; entry = entry.previous) count++
	return count
}

/** Core's limits. A longer delay outlives every request, and more hedges than this are never sent. */
const MAX_DELAY_MS = 2 ** 31
const MAX_HEDGES = 100

/** Returns the delay and the number of hedged requests. */
export const hedgeOptions = ({ maxAttempts, hedgingDelayMs }: GrpcHedgingPolicy): HedgeOptions => ({
	delayMs: Math.min(hedgingDelayMs, MAX_DELAY_MS),
	maxHedges: Math.min(maxAttempts - 1, MAX_HEDGES),
})
