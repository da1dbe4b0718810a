/** The retry and hedging policies of gRPC proposal A6 on core's layers. */
import type { Budget } from '../../core/budget/budget.ts'
import { DeadlineExceededError } from '../../core/errors/errors.ts'
import { Hedge } from '../../core/hedge/hedge.ts'
import { MAX_NUMBER } from '../../core/options/schema.ts'
import { Retry } from '../../core/retry/retry.ts'
import type { GrpcHedgingPolicy, GrpcRetryPolicy } from '../service-config/service-config.ts'
import { DiscardedError } from '../status/discarded-error.ts'
import { isOversized } from '../status/oversized.ts'
import { NO_RETRY } from '../status/pushback.ts'
import { GrpcStatusError } from '../status/status-error.ts'
import { backoffOptions, backoffsSincePushback, hedgeOptions } from './a6-options.ts'
import { expired } from './call-failures.ts'
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
			// Only the deadline limits a pushback.
			maxRetryAfterMs: MAX_NUMBER,
			onRetry: onRetry as Retry['options']['onRetry'],
		})
		this.layer.backoffAttempt = backoffsSincePushback
		// A6 requires exactly the pushback. Servers vary it, so that clients do not return together.
		this.layer.hasExactWaits = true
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
				if (!(value instanceof GrpcStatusError) || rpcOf(call).isCommitted || isOversized(value))
					return undefined
				if (!nonFatalStatusCodes.has(value.code)) return undefined
				return value.pushbackMs === NO_RETRY ? Infinity : (value.pushbackMs ?? 0)
			},
			expired: (call) => expired(new DeadlineExceededError(), rpcOf(call).isDeadlineInherited),
		}
	}
}
