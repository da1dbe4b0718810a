/** The retry and hedging policies of a service config for HTTP requests. */
import type { Budget } from '../../core/budget/budget.ts'
import type { Call } from '../../core/engine/call.ts'
import { Hedge } from '../../core/hedge/hedge.ts'
import { MAX_NUMBER } from '../../core/options/schema.ts'
import type { RetryOptions } from '../../core/retry/options.ts'
import { Retry } from '../../core/retry/retry.ts'
import { addRetryAfterJitter } from '../../core/retry/retry-after.ts'
import type { HttpCall } from '../../http/request/http-call.ts'
import { HttpStatusError } from '../../http/request/status-error.ts'
import { backoffsSincePushback, hedgeOptions } from '../policy/a6-options.ts'
import type { GrpcHedgingPolicy } from '../service-config/service-config.ts'

/** Returns true for failures with a status code that the service config lists. */
export type IsListed = (error: unknown) => boolean

export class HttpRetry extends Retry {
	constructor(options: RetryOptions, isListed: IsListed) {
		super({
			...options,
			shouldRetry: isListed,
			// HTTP applies its own `maxRetryAfterMs` and `longRetryAfter`.
			maxRetryAfterMs: MAX_NUMBER,
		})
		this.layer.backoffAttempt = backoffsSincePushback
	}
}

/** Retry-After and the headers that forbid a retry have the part of gRPC's pushback. */
export class HttpHedge extends Hedge {
	constructor(policy: GrpcHedgingPolicy, budget: Budget, isListed: IsListed) {
		super({ ...hedgeOptions(policy), budget })
		this.layer.rule = {
			canSend: () => true,
			delayAfterFailure({ value, options, pipeline }: Call) {
				if (!isListed(value)) return undefined
				// The options of a call of `yaoki/http` are its HttpCall.
				if ((options as Partial<HttpCall> | undefined)?.http?.findVeto(value)) return Infinity
				const waitMs = value instanceof HttpStatusError ? HttpStatusError.factsOf(value).waitMs : undefined
				return waitMs === undefined ? 0 : addRetryAfterJitter(waitMs, pipeline.runtime)
			},
		}
	}
}
