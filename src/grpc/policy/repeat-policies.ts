/** The retry and hedging policies of gRPC proposal A6 on core's layers. */

import type { BackoffOptions } from '../../core/backoff/options.ts'
import type { Budget } from '../../core/budget/budget.ts'
import type { Call } from '../../core/engine/call.ts'
import { DeadlineExceededError } from '../../core/errors/errors.ts'
import { Hedge } from '../../core/hedge/hedge.ts'
import type { HedgeOptions } from '../../core/hedge/options.ts'
import { MAX_NUMBER } from '../../core/options/schema.ts'
import { Retry } from '../../core/retry/retry.ts'
import type { GrpcHedgingPolicy, GrpcRetryPolicy } from '../service-config/service-config.ts'
import { NO_RETRY } from '../status/retry-metadata.ts'
import { GrpcStatusError, isOversized } from '../status/status-error.ts'
import { DiscardedError, expired } from './call-failures.ts'
import type { GrpcClientOptions } from './options.ts'
import { rpcOf } from './rpc.ts'

/** Retries the statuses of a retry policy. */
export class GrpcRetry extends Retry {
	constructor(policy: GrpcRetryPolicy, budget: Budget, onRetry: GrpcClientOptions['onRetry']) {
		const { retryableStatusCodes } = policy
		super({
			...backoffOptions(policy),
			budget,
			// The service config decides, also for statuses that are permanent otherwise.
			shouldRetry: (error) =>
				error instanceof GrpcStatusError && retryableStatusCodes.has(error.code) && !isOversized(error),
			// A pushback is limited by the deadline only.
			maxRetryAfterMs: MAX_NUMBER,
			onRetry: onRetry as Retry['options']['onRetry'],
		})
		// A6 requires exactly the pushback. Servers vary it, so that clients do not return together.
		this.layer.backoffAttempt = backoffsSincePushback
	}
}

/** Sends further requests while the first ones are in flight. */
export class GrpcHedge extends Hedge {
	constructor(policy: GrpcHedgingPolicy, budget: Budget) {
		const { nonFatalStatusCodes } = policy
		super({ ...hedgeOptions(policy), budget })
		this.layer.rule = {
			canSend: (call) => !rpcOf(call).isCommitted && !rpcOf(call).cancellation,
			delayAfterFailure(call) {
				const { value } = call
				if (value instanceof DiscardedError) return Infinity
				if (!(value instanceof GrpcStatusError) || !nonFatalStatusCodes.has(value.code)) return undefined
				if (rpcOf(call).isCommitted || isOversized(value)) return undefined
				return value.pushbackMs === NO_RETRY ? Infinity : (value.pushbackMs ?? 0)
			},
			expired: (call) => expired(new DeadlineExceededError(), rpcOf(call).isDeadlineInherited),
		}
	}
}

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

/** Returns the number of backoffs since the server's last pushback, after which the backoff begins again. */
function backoffsSincePushback({ lastAttempt }: Call): number {
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
